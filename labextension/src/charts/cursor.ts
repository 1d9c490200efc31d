// Which batch is looked at: one that keys or a hint have pinned, else the one under the pointer, else none.

import type { Cell, Columns } from "../wire/protocol.ts";

/** After this time without a move the pointer counts as forgotten, and the charts go on. */
const READING_MS = 8_000;

/** The rows are told apart by run and batch: their places change when rows are cut anew. */
interface Key {
  run: Cell;
  batch: Cell;
}

export class Cursor {
  private pinned: Key | null = null;
  private pointed: number | null = null;
  private readingUntil = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `resume` when nobody reads any more: the charts may go on. */
  constructor(private readonly resume: () => void) {}

  get isPinned(): boolean {
    return this.pinned !== null;
  }

  /** Nothing jumps while someone reads: the charts wait while a batch is looked at. */
  get isReading(): boolean {
    return this.pinned !== null || performance.now() < this.readingUntil;
  }

  /** The row of the batch that is looked at, null when there is none. */
  row(batches: Columns): number | null {
    if (this.pointed !== null) return this.pointed;
    if (!this.pinned) return null;
    const { run, batch } = this.pinned;
    const row = (batches.batchId ?? []).findIndex((id, at) => id === batch && (batches.runId?.[at] ?? null) === run);
    return row < 0 ? null : row;
  }

  pin(batches: Columns, row: number): void {
    this.pinned = { run: batches.runId?.[row] ?? null, batch: batches.batchId?.[row] ?? null };
    this.pointed = null;
  }

  /** The pointer is over a row, or has left; tells whether that is new. */
  point(row: number | null): boolean {
    if (row === this.pointed) return false;
    this.pointed = row;
    clearTimeout(this.timer);
    this.readingUntil = row === null ? 0 : performance.now() + READING_MS;
    if (row === null) this.resume();
    else this.timer = setTimeout(this.resume, READING_MS + 50);
    return true;
  }

  clear(): void {
    this.pinned = null;
    this.pointed = null;
    this.readingUntil = 0;
    clearTimeout(this.timer);
  }
}
