// Small helpers to build and change elements. Text from outside only ever becomes a text node.

/** An element with a class and children; strings become text nodes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
export function svg(tag: string, attributes: Record<string, string | number>, ...children: Node[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Sets text only when it differs, so that nothing is laid out again for nothing. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute only when it differs, null removes it; tells whether it did. */
export function setAttribute(element: Element, name: string, value: string | null): boolean {
  if (element.getAttribute(name) === value) return false;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
  return true;
}

/** Shows or hides. */
export function setShown(element: HTMLElement, shown: boolean): void {
  if (element.hidden === shown) element.hidden = !shown;
}

/** A button of ours: never a submit, never a tab stop too many. */
export function button(className: string, text: string, act: () => void): HTMLButtonElement {
  const element = h("button", className, text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}
