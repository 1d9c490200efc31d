// Code to paste.

import { button, h } from "./dom.ts";

/** Code to paste, with a button that says what it did. */
export function withCopy(block: HTMLPreElement): HTMLElement {
  const copy = button("sw-copy", "Copy", () => {
    void copyText(block).then((done) => {
      copy.textContent = done ? "Copied" : "Select and copy";
      setTimeout(() => {
        copy.textContent = "Copy";
      }, 2000);
    });
  });
  copy.setAttribute("aria-live", "polite");
  return h("div", "sw-code", block, copy);
}

async function copyText(block: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(block.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(block); // no clipboard on plain http: the text is selected, one key is left
    return false;
  }
}
