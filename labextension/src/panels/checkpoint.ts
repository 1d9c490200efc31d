// The checkpoint of the selected query: folded, its summary says what a restart would do.

import { withCopy } from "../dom/copy.ts";
import { h, setShown, setText } from "../dom/dom.ts";
import type { Checkpoint, Line } from "../wire/protocol.ts";

/** Where it is, how far it is, what a restart does, and which settings of the session it overrides. */
export class CheckpointCard {
  readonly element = h("details", "sw-fold-section sw-facts sw-checkpoint");
  private readonly summary = h("span", "sw-checkpoint-summary");
  private readonly restart = h("div", "sw-restart");
  private readonly code = h("pre");
  private readonly list = h("dl");
  private readonly settings = h("tbody");
  private readonly pinned: HTMLElement;
  private painted = "";

  constructor() {
    this.code.tabIndex = 0;
    const heads = ["Setting", "Checkpoint (holds)", "Session"].map((text) => {
      const head = h("th", "", text);
      head.scope = "col";
      return head;
    });
    const table = h("table", "", h("thead", "", h("tr", "", ...heads)), this.settings);
    table.setAttribute("aria-label", "Settings that the checkpoint keeps");
    this.pinned = h("div", "sw-columns sw-pinned", table);
    this.element.append(h("summary", "", "Checkpoint ", this.summary));
    this.element.append(this.restart, withCopy(this.code), this.list, this.pinned);
  }

  update(line: Line | undefined): void {
    const checkpoint = line?.checkpoint ?? null;
    const now = JSON.stringify(checkpoint);
    if (now === this.painted) return;
    this.painted = now;
    setShown(this.element, checkpoint !== null);
    if (checkpoint) this.fill(checkpoint);
  }

  private fill({ summary, restart, rows, pinned, code }: Checkpoint): void {
    setText(this.summary, `\u00b7 ${summary}`);
    this.restart.replaceChildren(...restart.map((text) => outside("p", text)));
    setText(this.code, code ?? "");
    if (this.code.parentElement) setShown(this.code.parentElement, code !== null);
    const items = rows.flatMap(([label, value, tip]) => {
      const text = outside("dd", value);
      if (tip) text.title = tip;
      return [h("dt", "", label), text];
    });
    this.list.replaceChildren(...items);
    const lines = pinned.map(([name, kept, session, tip]) => {
      const head = h("th");
      head.scope = "row";
      head.append(...name.split(/(?<=\.)/).flatMap((part) => [part, h("wbr")])); // lines break after a dot
      const line = h("tr", "", head, outside("td", kept), outside("td", session));
      if (tip) line.title = tip;
      return line;
    });
    this.settings.replaceChildren(...lines);
    setShown(this.pinned, pinned.length > 0);
  }
}

/** An element with a text from outside, whose direction is its own. */
function outside<K extends "p" | "dd" | "td">(tag: K, text: string): HTMLElementTagNameMap[K] {
  const element = h(tag, "", text);
  element.dir = "auto";
  return element;
}
