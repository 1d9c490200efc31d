// One line a query: state, rates, batch time against its interval, watermark, backlog; a note and the running batch.

import { button, h, setAttribute, setShown, setText, svg } from "../dom/dom.ts";
import { clock } from "../dom/format.ts";
import { shape } from "../dom/shapes.ts";
import type { Line } from "../wire/protocol.ts";

const CAPTIONS = ["State", "Query", "Input", "", "Processed", "Batch", "Batch time", "", "Watermark", "Backlog"];
/** Where the tick of the interval stands in the bar, as a share of its width. */
const TICK = 0.6;

export interface OverviewActions {
  select: (id: string) => void;
  explain: (id: string) => void;
}

/** The list of all queries. Lines are kept and changed in place, so that focus and tooltips stay. */
export class Overview {
  readonly element = h("div", "sw-lines");
  private readonly head = h("div", "sw-head");
  private readonly active = group("Streaming queries");
  private readonly fold: HTMLButtonElement;
  private readonly foldRow: HTMLElement;
  private readonly ended = group("Ended streaming queries");
  private readonly rows = new Map<string, Row>();
  private open = false;
  private selected: string | null = null;

  constructor(private readonly actions: OverviewActions) {
    this.element.setAttribute("role", "grid");
    this.element.setAttribute("aria-label", "Streaming queries");
    this.head.setAttribute("role", "row");
    this.head.append(...CAPTIONS.map((caption) => withRole("columnheader", h("span", "", caption))));
    this.fold = button("sw-fold", "", () => {
      this.open = !this.open;
      this.paintFold();
    });
    this.foldRow = withRole("row", h("div", "sw-fold-row", withRole("gridcell", h("div", "", this.fold))));
    this.element.append(this.head, this.active, this.foldRow, this.ended);
  }

  update(lines: readonly Line[], selected: string | null): void {
    this.selected = selected;
    const ids = new Set(lines.map((line) => line.id));
    for (const [id, row] of this.rows) {
      if (ids.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    const folds = lines.some((line) => !line.ended);
    place(this.active, this.rowsOf(lines.filter((line) => !line.ended || !folds)));
    place(this.ended, this.rowsOf(lines.filter((line) => line.ended && folds)));
    const alone = lines.length === 1;
    for (const line of lines) this.rows.get(line.id)?.update(line, line.id === selected, alone);
    setShown(this.element, lines.length > 0);
    this.paintFold();
    this.paintFocus();
  }

  /** The id of the line that is `step` lines after the selected one. */
  neighbour(step: number): string | null {
    const ids = this.visible().map((row) => row.id);
    const at = this.selected === null ? -1 : ids.indexOf(this.selected);
    return ids[Math.min(Math.max(at + step, 0), ids.length - 1)] ?? null;
  }

  focus(id: string): void {
    this.rows.get(id)?.element.focus({ preventScroll: true });
    this.rows.get(id)?.element.scrollIntoView({ block: "nearest" });
  }

  private rowsOf(lines: readonly Line[]): Row[] {
    return lines.map((line) => {
      let row = this.rows.get(line.id);
      if (!row) {
        row = new Row(line.id, this.actions);
        this.rows.set(line.id, row);
      }
      return row;
    });
  }

  private visible(): Row[] {
    return [...this.rows.values()]
      .filter((row) => row.element.offsetParent !== null)
      .sort((a, b) => (a.element.compareDocumentPosition(b.element) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }

  private paintFold(): void {
    const count = this.ended.childElementCount;
    const inside = [...this.ended.children].some((row) => row.getAttribute("aria-selected") === "true");
    const open = this.open || inside;
    setShown(this.foldRow, count > 0);
    setShown(this.ended, count > 0 && open);
    setText(this.fold, `${open ? "▾" : "▸"} ${count} ended ${count === 1 ? "query" : "queries"}`);
    setAttribute(this.fold, "aria-expanded", String(open));
  }

  /** One line is a tab stop; the arrow keys reach the others. */
  private paintFocus(): void {
    const stop = this.selected ?? this.visible()[0]?.id ?? null;
    for (const [id, row] of this.rows) row.element.tabIndex = id === stop ? 0 : -1;
  }
}

class Row {
  readonly element = h("div", "sw-line");
  private readonly shape = h("span", "sw-shape");
  private readonly state = h("span", "sw-word");
  private readonly name = h("bdi", "sw-name-text");
  private readonly input = h("span", "sw-value");
  private readonly spark = svg("svg", { class: "sw-spark", viewBox: "0 0 60 16", "aria-hidden": "true" });
  private readonly processed = h("span", "sw-value");
  private readonly batch = h("span", "sw-value");
  private readonly time = h("span", "sw-value");
  private readonly of = h("span", "sw-of");
  private readonly bar = h("div", "sw-bar", h("i", "sw-fill"), h("i", "sw-over"), h("i", "sw-tick"));
  private readonly watermark = h("span", "sw-value");
  private readonly backlog = h("span", "sw-value");
  private readonly trend = h("span", "sw-trend");
  private readonly note = h("div", "sw-note");
  private readonly noteText = h("span", "sw-note-text");
  private readonly why: HTMLButtonElement;
  private readonly running = h("div", "sw-running");
  private readonly runningText = h("span");
  private readonly progress = h("span", "sw-progress", h("i"));
  private readonly cells: Record<string, HTMLElement>;
  private painted = "";

  constructor(
    readonly id: string,
    actions: OverviewActions,
  ) {
    this.element.setAttribute("role", "row");
    this.why = button("sw-why", "Why & fix ▸", () => actions.explain(id));
    this.name.dir = this.noteText.dir = "auto";
    this.cells = {
      state: h("div", "sw-state", this.shape, this.state),
      name: h("div", "sw-name", this.name),
      input: cell("sw-num", "input", this.input),
      spark: h("div", "sw-spark-cell", this.spark),
      processed: cell("sw-num", "processed", this.processed),
      batch: cell("sw-num", "batch", this.batch),
      time: cell("sw-num sw-time", "took", this.time, this.of),
      bar: h("div", "sw-bar-cell", this.bar),
      watermark: cell("sw-num", "watermark", this.watermark),
      backlog: cell("sw-num", "backlog", this.backlog, this.trend),
    };
    this.note.append(this.noteText, this.why);
    this.running.append(this.runningText, this.progress);
    for (const part of [...Object.values(this.cells), this.note, this.running]) {
      this.element.append(withRole("gridcell", part));
    }
    this.element.addEventListener("click", (event) => {
      if (!(event.target instanceof Element && event.target.closest("button"))) actions.select(id);
    });
  }

  update(line: Line, selected: boolean, alone: boolean): void {
    setAttribute(this.element, "aria-selected", String(selected));
    const now = JSON.stringify([line, alone]);
    if (now === this.painted) return;
    this.painted = now;
    setAttribute(this.element, "data-id", line.id);
    setAttribute(this.element, "data-verdict", line.state.verdict);
    setAttribute(this.element, "data-level", line.state.level);
    this.element.classList.toggle("sw-ended", line.ended);
    this.shape.replaceChildren(shape(line.state.shape));
    this.texts(line);
    this.paintBar(line);
    this.spark.replaceChildren(...sparkline(line.rates.spark));
    this.paintBelow(line, alone);
  }

  private texts(line: Line): void {
    setText(this.state, line.state.label);
    setText(this.name, line.name);
    setValue(this.input, line.rates.input);
    setValue(this.processed, line.rates.processed);
    setValue(this.batch, line.batch.id);
    setValue(this.time, line.batch.duration);
    setText(this.of, line.batch.against ?? "");
    setValue(this.watermark, line.watermark.text);
    setValue(this.backlog, line.backlog.text);
    setText(this.trend, line.backlog.trend ? `, ${line.backlog.trend}` : "");
    this.tip("state", line.state.reason);
    this.tip("name", line.fullName);
    this.cells.name?.classList.toggle("sw-shortened", line.name !== line.fullName);
    for (const name of ["input", "spark", "processed"]) this.tip(name, line.rates.tip);
    for (const name of ["batch", "time", "bar"]) this.tip(name, line.batch.tip);
    this.tip("watermark", line.watermark.tip);
    this.tip("backlog", line.backlog.tip);
  }

  private tip(name: string, text: string | null | undefined): void {
    const cell_ = this.cells[name];
    if (cell_) setAttribute(cell_, "title", text ?? null);
  }

  private paintBar(line: Line): void {
    const { ratio, basis } = line.batch;
    setAttribute(this.bar, "data-basis", ratio === null ? "none" : (basis ?? "none"));
    const share = Math.min((ratio ?? 0) * TICK, 1);
    this.bar.style.setProperty("--sw-fill", String(Math.min(share, TICK)));
    this.bar.style.setProperty("--sw-over", String(Math.max(share - TICK, 0)));
    this.bar.style.setProperty("--sw-tick", String(TICK));
  }

  private paintBelow(line: Line, alone: boolean): void {
    const { note, running } = line;
    // Below a single line stands its first hint, in the same words: once is enough.
    const said = alone && note !== null && line.hints[0]?.code === note.code;
    setShown(this.note, note !== null && !said);
    setText(this.noteText, note ? local(note.text, note.at ?? null) : "");
    setAttribute(this.note, "data-level", note?.level ?? null);
    setShown(this.why, note !== null && (line.hints.length > 0 || Boolean(line.details)));
    setShown(this.running, running !== null);
    setText(this.runningText, running?.text ?? "");
    setShown(this.progress, running?.fraction !== null && running !== null);
    this.progress.style.setProperty("--sw-done", String(running?.fraction ?? 0));
  }
}

/** A number; what is not one steps back. */
function setValue(element: Element, text: string): void {
  setText(element, text);
  element.classList.toggle("sw-unknown", !/\d/.test(text));
}

/** A text with a time in UTC, in the reader's zone where it is a time of day. */
function local(text: string, at: number | null): string {
  return at === null ? text : text.replace(/\b\d\d:\d\d UTC$/, clock(at).slice(0, 5));
}

function group(label: string): HTMLElement {
  const box = withRole("rowgroup", h("div", "sw-box"));
  box.setAttribute("aria-label", label);
  return box;
}

function withRole(role: string, element: HTMLElement): HTMLElement {
  element.setAttribute("role", role);
  return element;
}

function cell(className: string, label: string, ...values: HTMLElement[]): HTMLElement {
  return h("div", className, h("span", "sw-label", `${label} `), ...values);
}

/** Puts rows into a box in order, moving none that stands right. */
function place(box: HTMLElement, rows: readonly Row[]): void {
  rows.forEach((row, at) => {
    if (box.children[at] !== row.element) box.insertBefore(row.element, box.children[at] ?? null);
  });
}

/** The recent rates as a small line from zero; unknown values break it. */
export function sparkline(values: readonly (number | null)[]): SVGElement[] {
  const top = Math.max(...values.map((value) => value ?? 0));
  if (values.length < 2 || !(top > 0)) return [];
  const points = values.map((value, at) => {
    if (value === null) return null;
    return [1 + (56 * at) / (values.length - 1), 14.5 - (13 * Math.max(value, 0)) / top] as const;
  });
  const path = points.map((point, at) => {
    return point ? `${points[at - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "";
  });
  const end = points.findLast((point) => point !== null);
  const drawn = [svg("path", { d: path.join("") })];
  if (end) drawn.push(svg("circle", { cx: end[0], cy: end[1], r: 1.75 }));
  return drawn;
}
