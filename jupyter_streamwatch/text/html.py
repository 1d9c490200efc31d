"""HTML that is safe by construction: what is not already an element is text from outside, and is escaped."""

from __future__ import annotations

from html import escape

from jupyter_streamwatch.text.outside import printable


class Html(str):
    """A piece of HTML made by :func:`el`; any other string is text."""

    __slots__ = ()


VOID = frozenset({"br", "hr", "img", "meta", "source"})


def el(tag: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """Make an element; texts are escaped, None leaves out a child or an attribute.

    Args:
        tag: Name of the element.
        children: Texts and elements.
        attributes: ``class_`` is ``class``, other underscores are hyphens; True is an attribute without a value.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        written = name.rstrip("_").replace("_", "-")
        parts.append(f" {written}" if value is True else f' {written}="{_text(str(value))}"')
    parts.append(">")
    if tag not in VOID:
        parts.append(join(*children))
        parts.append(f"</{tag}>")
    return Html("".join(parts))


def join(*children: str | None) -> Html:
    """Put texts and elements one after another."""
    return Html("".join(child if isinstance(child, Html) else _text(child) for child in children if child is not None))


def _text(text: str) -> str:
    return escape(printable(text))


def name(text: str, **attributes: str | float | bool | None) -> Html:
    """A text from outside whose direction must not turn what stands around it."""
    return el("bdi", text, **attributes)
