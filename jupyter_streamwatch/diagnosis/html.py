"""A diagnosis as plain HTML, without style or script: what is left of it where a notebook is sanitised."""

from __future__ import annotations

from typing import Any

from jupyter_streamwatch.diagnosis import words
from jupyter_streamwatch.text.html import Html, el, join

PIECE = 80  # characters of a piece of evidence; longer ones are texts that stand elsewhere too


def page(diagnosis: dict[str, Any], capacity: str) -> Html:
    """Write a diagnosis (``Diagnosis.to_dict()``, redacted), every hint in full; ``capacity`` is a sentence."""
    outcome = [diagnosis["outcome"]["text"]] if diagnosis["outcome"] else []
    more = [sentence for sentence in (*outcome, capacity) if sentence]
    hints = [hint_item(hint) for hint in diagnosis["hints"]]
    calm = words.nothing_wrong(diagnosis["verdict"], diagnosis["backlog"]["amount"])
    return el(
        "div",
        el("p", el("b", f"{words.glyph(diagnosis['level'])} {diagnosis['label']}"), f": {diagnosis['reason']}"),
        *(el("p", sentence) for sentence in more),
        el("ul", *hints) if hints else el("p", words.NOTHING_WRONG) if calm else None,
    )


def hint_item(hint: dict[str, Any]) -> Html:
    """Write a hint (``Hint.to_dict()``, redacted) as an item of a list."""
    pieces = [words.evidence(one) for one in hint["evidence"]]
    evidence = " · ".join(piece for piece in pieces if len(piece) <= PIECE)
    effect = words.effect(hint)
    advice = " ".join(text for text in (hint["cause"], hint["fix"], f"Effect: {effect}" if effect else None) if text)
    return el(
        "li",
        el("b", f"{words.glyph(hint['severity'])} {hint['title']}"),
        join(el("br"), el("small", evidence)) if evidence else None,
        join(el("br"), advice) if advice else None,
        el("pre", el("code", hint["code_fix"])) if hint["code_fix"] else None,
    )
