// What is spoken to those who do not see the dashboard.

import { h, setText } from "../dom/dom.ts";
import type { Line } from "../wire/protocol.ts";

/** Speaks of changed states only: numbers that move would never stop talking. */
export class Announcer {
  readonly element = h("div", "sw-quiet");
  private readonly labels = new Map<string, string>();

  constructor() {
    this.element.setAttribute("role", "status");
    this.element.setAttribute("aria-live", "polite");
  }

  update(lines: readonly Line[]): void {
    const changes: string[] = [];
    for (const { id, name, state } of lines) {
      const before = this.labels.get(id);
      if (before !== undefined && before !== state.label) changes.push(`${name}: ${state.label}`);
      this.labels.set(id, state.label);
    }
    if (changes.length) setText(this.element, changes.join(". "));
  }
}
