// The picture of one dashboard as this page knows it. No DOM, no clock: what arrives is applied or refused.

import type { Cell, Charts, Columns, Data, Delta, Line, Message, Session, Snapshot } from "./protocol.ts";

/** What an applied message changed, so that views repaint only that. */
export interface Change {
  lines: boolean;
  charts: boolean;
  data: boolean;
  session: boolean;
}

const EVERYTHING: Change = { lines: true, charts: true, data: true, session: true };

/** A new row is looked for among this many last ones; changes to a batch arrive soon after it. */
const RECENT = 64;

export class Store {
  n = -1;
  taken = "";
  session: Session = { state: "live", text: "" };
  lines: Line[] = [];
  selected: string | null = null;
  charts: Charts | null = null;
  data: Data | null = null;
  private views: Snapshot["views"];
  private readonly listeners = new Set<(change: Change) => void>();

  /** Calls `listener` after each change; returns what removes it. */
  subscribe(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Takes a whole picture, unless a newer one is here already. */
  load(snapshot: Snapshot): boolean {
    if (!Array.isArray(snapshot.lines) || snapshot.n < this.n) return false;
    const sameCharts = this.charts?.key === snapshot.charts?.key && this.selected === snapshot.selected;
    this.n = snapshot.n;
    this.taken = snapshot.taken;
    this.session = snapshot.session;
    this.lines = snapshot.lines;
    this.selected = snapshot.selected;
    if (!sameCharts) this.charts = snapshot.charts;
    this.data = snapshot.data;
    this.views = snapshot.views;
    this.tell({ ...EVERYTHING, charts: !sameCharts });
    return true;
  }

  /** Applies a message. `gap` means that one before it was lost: ask for the whole picture. */
  apply(message: Message): "applied" | "old" | "gap" {
    if (message.type === "snapshot") return this.load(message) ? "applied" : "old";
    if (message.type === "alive") return message.n > this.n ? "gap" : "applied";
    if (message.n <= this.n) return "old";
    if (message.n !== this.n + 1) return "gap";
    this.step(message);
    return "applied";
  }

  /** Shows another query from what is already here (reports); false when the kernel must be asked. */
  choose(id: string): boolean {
    const view = this.views?.[id];
    if (!view) return false;
    this.selected = id;
    this.charts = view.charts;
    this.data = view.data;
    this.tell(EVERYTHING);
    return true;
  }

  /** Takes a rule's hints away at once; the kernel leaves them out from then on. */
  hide(code: string): void {
    this.lines = this.lines.map((line) => ({
      ...line,
      hints: line.hints.filter((hint) => hint.code !== code),
      note: line.note?.code === code ? null : line.note,
    }));
    this.tell({ ...EVERYTHING, charts: false, data: false });
  }

  line(id: string | null): Line | undefined {
    return this.lines.find((line) => line.id === id);
  }

  private step(delta: Delta): void {
    this.n = delta.n;
    this.taken = delta.taken;
    if (delta.session) this.session = delta.session;
    if (delta.lines ?? delta.order) this.mergeLines(delta.lines ?? [], delta.order);
    if (delta.data) this.data = delta.data;
    if (this.data && delta.rows) upsert(this.data.batches, delta.rows);
    if (this.data && delta.marks) this.data = { batches: this.data.batches, marks: delta.marks };
    this.tell({
      lines: Boolean(delta.lines ?? delta.order),
      charts: false,
      data: Boolean(delta.data ?? delta.rows ?? delta.marks),
      session: Boolean(delta.session),
    });
  }

  private mergeLines(changed: Line[], order: string[] | undefined): void {
    const byId = new Map([...this.lines, ...changed].map((line) => [line.id, line]));
    const ids = order ?? this.lines.map((line) => line.id);
    this.lines = ids.map((id) => byId.get(id)).filter((line) => line !== undefined);
  }

  private tell(change: Change): void {
    for (const listener of [...this.listeners]) listener(change);
  }
}

/** Appends rows to columns; a row of a batch that is already there replaces it. */
export function upsert(columns: Columns, rows: Columns): void {
  const runs = rows.runId ?? [];
  const ids = rows.batchId ?? [];
  for (const name of Object.keys(rows)) columns[name] ??= filled(length(columns));
  for (let row = 0; row < length(rows); row += 1) {
    const at = find(columns, runs[row] ?? null, ids[row] ?? null) ?? length(columns);
    for (const [name, column] of Object.entries(columns)) column[at] = rows[name]?.[row] ?? null;
  }
}

/** Rows in the columns: as many as batch ids. */
export function length(columns: Columns): number {
  return columns.batchId?.length ?? 0;
}

function filled(count: number): Cell[] {
  return Array.from({ length: count }, () => null);
}

function find(columns: Columns, run: Cell, id: Cell): number | null {
  const ids = columns.batchId ?? [];
  const runs = columns.runId ?? [];
  for (let row = ids.length - 1; row >= Math.max(0, ids.length - RECENT); row -= 1) {
    if (ids[row] === id && (runs[row] ?? null) === run) return row;
  }
  return null;
}

/** Batch ids of the rows in order, written short: `0-57,60`. A doubled batch shows. */
export function spans(ids: readonly Cell[]): string {
  const parts: string[] = [];
  let first: Cell = null;
  let last: Cell = null;
  const close = () => {
    if (first !== null) parts.push(first === last ? String(first) : `${String(first)}-${String(last)}`);
  };
  for (const id of ids) {
    if (typeof id === "number" && typeof last === "number" && id === last + 1) last = id;
    else {
      close();
      first = last = id;
    }
  }
  close();
  return parts.join(",");
}
