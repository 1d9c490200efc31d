// Below the charts: all numbers of one batch, and what is known of the query itself. Both folded.

import { h, setShown, setText } from "../dom/dom.ts";
import { UNKNOWN, exact } from "../dom/format.ts";
import type { Cell, Columns, Line } from "../wire/protocol.ts";

/** Spark's columns; what the charts draw from them stands beside them under longer names. */
const SPARKS = /^(\w+|(durationMs|eventTime|sink|state(\[\d+\])?|source\[\d+\])\.\w+|tasks\..+)$/;
const DRAWN = new Set(["time", "left", "middle", "right", "room", "interval"]);

/** Columns whose numbers are times (epoch ms, UTC). */
type Times = ReadonlySet<string>;

/** A table of every column of one batch; filled only while it is open. */
export class Numbers {
  readonly element = h("details", "sw-fold-section sw-numbers");
  private readonly title = h("summary", "", "All numbers");
  private readonly body = h("tbody");
  private paint: () => void = () => undefined;

  constructor() {
    const table = h("table", "", this.body);
    table.setAttribute("aria-label", "All numbers of the batch");
    this.element.append(this.title, h("div", "sw-columns", table));
    this.element.addEventListener("toggle", () => this.paint());
  }

  update(batches: Columns, row: number, times: Times): void {
    const id = batches.batchId?.[row];
    setShown(this.element, row >= 0);
    setText(this.title, id === null || id === undefined ? "All numbers" : `All numbers of batch ${String(id)}`);
    this.paint = () => {
      if (this.element.open) this.fill(batches, row, times);
    };
    this.paint();
  }

  private fill(batches: Columns, row: number, times: Times): void {
    const rows = Object.keys(batches)
      .filter((name) => isShown(name, batches))
      .map((name) => [name, cellText(batches[name]?.[row] ?? null, times.has(name))] as const)
      .filter(([, text]) => text !== UNKNOWN);
    while (this.body.children.length > rows.length) this.body.lastElementChild?.remove();
    rows.forEach(([name, text], at) => {
      let line = this.body.children[at];
      if (!line) {
        const head = h("th");
        head.scope = "row";
        line = h("tr", "", head, h("td"));
        this.body.append(line);
      }
      const [head, value] = line.children;
      if (head) setText(head, name);
      if (value) setText(value, text);
    });
  }
}

/** A single operator's or source's numbers are those of the query. */
function isShown(name: string, batches: Columns): boolean {
  if (!SPARKS.test(name) || DRAWN.has(name)) return false;
  const [, kind, rest] = /^(state|source)\[0\]\.(.+)$/.exec(name) ?? [];
  return kind === undefined || rest === undefined || `${kind}[1].${rest}` in batches;
}

function cellText(value: Cell, isTime: boolean): string {
  if (value === null) return UNKNOWN;
  if (typeof value === "string") return value;
  return isTime && Math.abs(value) < 8e15 ? new Date(value).toISOString() : exact(value);
}

/** What is known of the query: trigger, sink, checkpoint, ... as a definition list. */
export class Facts {
  readonly element = h("details", "sw-fold-section sw-facts");
  private readonly list = h("dl");
  private painted = "";

  constructor() {
    this.element.append(h("summary", "", "About this query"), this.list);
  }

  update(line: Line | undefined): void {
    const facts: Line["facts"] = line ? [["Name", line.fullName, null], ["Id", line.id, null], ...line.facts] : [];
    const now = JSON.stringify(facts);
    if (now === this.painted) return;
    this.painted = now;
    const items = facts.flatMap(([label, value, tip]) => {
      const text = h("dd", "", value);
      text.dir = "auto";
      if (tip) text.title = tip;
      return [h("dt", "", label), text];
    });
    this.list.replaceChildren(...items);
    setShown(this.element, line !== undefined);
  }
}
