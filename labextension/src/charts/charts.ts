// The charts of one query: one Bokeh document, one root a chart, headers in HTML that are title, legend and values.

import type { Bokeh, BokehDocument, BokehRange, BokehSource, BokehView, BokehViews } from "./bokeh.ts";
import { h, setAttribute, setShown, setText, svg } from "../dom/dom.ts";
import { exact, shifted, write } from "../dom/format.ts";
import { levelShape } from "../dom/shapes.ts";
import type { Cell, ChartRoot, Charts as ChartSet, Columns, Data, Hint, Series } from "../wire/protocol.ts";
import { length } from "../wire/store.ts";

/** One chart in the page: its header, its place, and Bokeh's view once it is there. */
interface Panel {
  root: ChartRoot;
  element: HTMLElement;
  place: HTMLElement;
  cursor: HTMLElement;
  values: HTMLElement[];
  /** The mark of a hint whose evidence this chart shows. */
  hint: HTMLElement;
  view: BokehView | null;
}

/** What a time axis adds to the height of a figure (charts/theme.py). */
const AXIS_HEIGHT = 22;
/** Room for one label of the time axis with its seconds, in pixels. */
const LABEL_WIDTH = 88;
/** A legend of more series needs a line of its own: such a chart is as wide as the dashboard. */
const NARROW_SERIES = 5;

export interface ChartsActions {
  /** The pointer is over this row; null when it left. */
  point: (row: number | null) => void;
  /** A person zoomed or went back to following. */
  following: (following: boolean) => void;
}

/** Charts that share one time axis and one cursor. */
export class Charts {
  readonly element = h("div", "sw-charts");
  painted = 0;
  following = true;
  private panels: Panel[] = [];
  private key: string | null = null;
  private data: Data = { batches: {}, marks: {} };
  private times: number[] = [];
  private set: ChartSet | null = null;
  private views: BokehView[] = [];
  private drawn: { document: BokehDocument; views: BokehViews } | null = null;
  private turn = 0;
  /** The chart that stands first because it explains a hint. */
  private first: string | null = null;

  private width = 0;
  private readonly sizes = new ResizeObserver(() => {
    if (this.element.clientWidth === this.width) return;
    this.width = this.element.clientWidth;
    this.placeAxes();
  });

  constructor(private readonly actions: ChartsActions) {
    this.sizes.observe(this.element);
    this.element.addEventListener("pointerleave", () => actions.point(null));
  }

  get ready(): boolean {
    return this.views.length > 0;
  }

  /** Shows the headers at once; `draw` brings the pictures. */
  arrange(set: ChartSet | null): void {
    const key = set ? set.key : null;
    if (key === this.key && this.set !== null) return;
    this.close();
    this.key = key;
    this.set = set;
    const roots = set?.roots ?? [];
    const narrow = roots.filter((root) => root.series.length <= NARROW_SERIES);
    const last = narrow.length % 2 ? narrow.at(-1) : null; // no hole beside it
    this.panels = roots.map((root) => this.panel(root, root === last || !narrow.includes(root)));
    this.element.replaceChildren(...this.panels.map((panel) => panel.element));
  }

  /** Embeds the document; the element must be in the page. */
  async draw(bokeh: Bokeh): Promise<void> {
    const set = this.set;
    if (!set || this.ready || !this.element.isConnected) return;
    const turn = ++this.turn;
    // Bokeh takes the JSON over: a copy of its own for each view.
    const drawing = bokeh.require("document").Document.from_json(structuredClone(set.docs_json[set.docid]));
    this.give(drawing, this.data); // before the first paint, or ranges start without rows
    const places = new Map(this.panels.map((panel) => [panel.root.root_id, panel.place]));
    const elements = drawing.roots().map((root) => places.get(root.id) ?? this.element);
    const views = await bokeh.embed.add_document_standalone(drawing, this.element, elements);
    if (turn !== this.turn) {
      views.clear();
      return;
    }
    this.drawn = { document: drawing, views };
    for (const panel of this.panels) panel.view = views.get_by_id(panel.root.root_id);
    this.views = this.panels.map((panel) => panel.view).filter((view) => view !== null);
    this.prepare();
    this.fill(this.data);
  }

  /** Gives the sources their rows; times are shown in the reader's zone. */
  fill(data: Data): void {
    this.data = data;
    this.times = (data.batches.timestamp ?? []).map((at) => shifted(at) ?? NaN);
    if (!this.drawn) return;
    this.give(this.drawn.document, data);
    this.painted += 1;
  }

  /** Makes sure that a row is in the charts: the newest may still wait to be drawn. */
  reach(row: number, data: Data): void {
    if (row < this.times.length) return;
    this.fill(data);
    for (const view of this.views) view.update_dataranges?.();
  }

  /** Puts the chart that explains a hint first, with its mark; without one the order stays and the mark goes. */
  explain(name: string | null, hint: Hint | undefined): void {
    for (const { root, element, hint: mark } of this.panels) {
      const explains = hint !== undefined && root.name === name;
      setShown(mark, explains);
      if (explains && setAttribute(mark, "data-level", hint.severity)) mark.replaceChildren(levelShape(hint.severity));
      if (explains) setAttribute(mark, "title", hint.title);
      if (name !== null) element.classList.toggle("sw-first", explains);
    }
    if (name !== null && name !== this.first) this.placeAxes();
    this.first = name ?? this.first;
  }

  /** Writes the values of a row into the headers, and draws the cursor there. */
  show(row: number, pointed: boolean): void {
    const at = this.times[row];
    for (const panel of this.panels) {
      panel.root.series.forEach((series, index) => {
        const value = this.data.batches[series.column]?.[row] ?? null;
        const element = panel.values[index];
        if (!element) return;
        setText(element, write(series.format, value));
        setAttribute(element, "title", value === null ? null : exact(value));
      });
      this.placeCursor(panel, pointed && at !== undefined ? at : null);
    }
  }

  /** Says in words what each chart shows, for those who do not see it. */
  describe(row: number): void {
    const id = this.data.batches.batchId?.[row];
    for (const { root, place } of this.panels) {
      const values = root.series.map((series) => {
        return `${series.label} ${write(series.format, this.data.batches[series.column]?.[row] ?? null)}`;
      });
      const unit = root.unit ? ` (${root.unit})` : "";
      setAttribute(place, "aria-label", `${root.title}${unit}, batch ${String(id ?? "n/a")}: ${values.join(", ")}.`);
    }
  }

  /** The row whose batch started nearest to a moment of the axis. */
  nearest(moment: number): number {
    let best = -1;
    let distance = Infinity;
    this.times.forEach((at, row) => {
      if (Math.abs(at - moment) <= distance) {
        distance = Math.abs(at - moment);
        best = row;
      }
    });
    return best;
  }

  /** Shows the whole run again and follows new batches. */
  follow(): void {
    for (const range of this.ranges()) {
      range.have_updated_interactively = false;
      range.reset?.();
    }
    for (const view of this.views) view.update_dataranges?.();
    this.setFollowing(true);
  }

  repaint(): void {
    for (const view of this.views) view.request_paint?.();
  }

  close(): void {
    this.turn += 1;
    this.drawn?.views.clear();
    this.drawn = null;
    this.views = [];
    this.panels = [];
    this.set = null;
    this.first = null;
    this.setFollowing(true);
  }

  private panel(root: ChartRoot, wide: boolean): Panel {
    const values: HTMLElement[] = [];
    const title = h("span", "sw-chart-title", root.title);
    if (root.question) title.title = root.question;
    const legend = h("span", "sw-legend");
    for (const series of root.series) {
      const value = h("span", "sw-value");
      values.push(value);
      value.hidden = series.shape === "hollow"; // it marks batches, it has no number
      const label = h("bdi", "sw-series-label", series.label);
      legend.append(h("span", "sw-series", ...mark(series), label, value));
    }
    const [counted = ""] = root.unit.split("/");
    const said = root.title.toLowerCase().split(" ").includes(counted);
    const unit = said ? [] : [h("span", "sw-unit", `(${root.unit})`)];
    const hint = h("span", "sw-shape");
    hint.hidden = true;
    const header = h("header", "", hint, title, ...unit, legend);
    const cursor = h("div", "sw-cursor");
    cursor.hidden = true;
    const place = h("div", "sw-place");
    place.style.minHeight = `${root.height}px`;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", root.title);
    const element = h("figure", wide ? "sw-chart sw-wide" : "sw-chart", header, h("div", "sw-plot", place, cursor));
    element.dataset.chart = root.name;
    const panel: Panel = { root, element, place, cursor, values, hint, view: null };
    this.listen(panel);
    return panel;
  }

  private listen(panel: Panel): void {
    panel.place.addEventListener("pointermove", (event) => {
      const frame = panel.view?.frame;
      if (!frame || event.buttons) return;
      const x = event.clientX - panel.place.getBoundingClientRect().left;
      const inside = x >= frame.bbox.left && x <= frame.bbox.left + frame.bbox.width;
      this.actions.point(inside ? this.nearest(frame.x_scale.invert(x)) : null);
    });
    // The dashboard takes the focus, for its keys; a chart would draw a frame around itself.
    panel.place.addEventListener("mousedown", (event) => event.preventDefault(), { capture: true });
    // The wheel scrolls the page; with Ctrl or Cmd it zooms. Bokeh listens deeper, so it is kept from hearing.
    panel.place.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
      },
      { capture: true, passive: true },
    );
  }

  private placeCursor(panel: Panel, at: number | null): void {
    const frame = panel.view?.frame;
    const x = at !== null && frame ? frame.x_scale.compute(at) : NaN;
    const inside = frame && x >= frame.bbox.left - 0.5 && x <= frame.bbox.left + frame.bbox.width + 0.5;
    panel.cursor.hidden = !inside;
    if (!inside) return;
    panel.cursor.style.transform = `translateX(${Math.round(x)}px)`;
    panel.cursor.style.top = `${frame.bbox.top}px`;
    panel.cursor.style.height = `${frame.bbox.height}px`;
  }

  /** One cursor only, ours; and a note when a person moves an axis. */
  private prepare(): void {
    for (const view of this.views) {
      for (const tool of view.model.toolbar?.tools ?? []) {
        if (tool.type === "CrosshairTool" || tool.type === "HoverTool") tool.active = false;
      }
    }
    this.placeAxes();
    for (const range of this.ranges()) {
      range.change.connect(() => this.setFollowing(!this.ranges().some((one) => one.have_updated_interactively)));
    }
  }

  /** The time axis stands once below charts of one width and place; Python shows it on the last chart alone. */
  private placeAxes(): void {
    const boxes = this.panels.map(({ element }) => element.getBoundingClientRect());
    const isAbove = (one: DOMRect, other: DOMRect) => {
      return other.top > one.top && Math.abs(other.left - one.left) < 1 && Math.abs(other.right - one.right) < 1;
    };
    this.panels.forEach((panel, at) => {
      const box = boxes[at];
      const shown = !box || !boxes.some((other) => isAbove(box, other));
      this.placeAxis(panel, shown, at === this.panels.length - 1);
    });
  }

  private placeAxis({ view, root, place }: Panel, shown: boolean, made: boolean): void {
    const height = root.height + (Number(shown) - Number(made)) * AXIS_HEIGHT;
    place.style.minHeight = `${height}px`;
    place.dataset.axis = String(shown);
    const axis = view?.model.below[0];
    if (!view || !axis) return;
    axis.ticker.desired_num_ticks = Math.max(Math.floor(place.clientWidth / LABEL_WIDTH), 2);
    if (axis.visible === shown) return;
    axis.visible = shown;
    view.model.min_border_bottom += (shown ? 1 : -1) * AXIS_HEIGHT;
    view.model.height = height;
  }

  private setFollowing(following: boolean): void {
    if (following === this.following) return;
    this.following = following;
    this.actions.following(following);
  }

  private ranges(): BokehRange[] {
    return [...new Set(this.views.flatMap((view) => [view.model.x_range, view.model.y_range]))];
  }

  private give(drawing: BokehDocument, data: Data): void {
    for (const name of ["batches", "marks"] as const) {
      const source = drawing.get_model_by_name(name) as BokehSource | null;
      if (source) source.data = forBokeh(data[name], this.set?.timeColumns[name] ?? []);
    }
  }
}

const MARKS: Partial<Record<Series["shape"], [string, Record<string, string | number>]>> = {
  square: ["rect", { x: 1, y: 1, width: 8, height: 8, rx: 2 }],
  line: ["path", { d: "M0 5H10", class: "sw-stroke" }],
  dash: ["path", { d: "M0 5H10", class: "sw-stroke", "stroke-dasharray": "4 2" }],
  hatch: ["path", { d: "M1 5 5 1M1 9 9 1M5 9 9 5", class: "sw-stroke" }],
  hollow: ["circle", { cx: 5, cy: 5, r: 3.5, class: "sw-stroke" }],
  triangle: ["path", { d: "M5 1 9.5 9H.5Z" }],
};

/** The mark of a series in the legend, in the form in which it is drawn. */
function mark({ shape, color }: Series): HTMLElement[] {
  const form = MARKS[shape];
  if (!form) return [];
  const element = h("span", "sw-mark");
  element.style.color = color;
  element.append(svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, svg(...form)));
  return [element];
}

/** Columns as Bokeh takes them: NaN for unknown numbers, time columns moved to the reader's zone. */
export function forBokeh(columns: Columns, times: readonly string[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const size = length(columns) || Math.max(0, ...Object.values(columns).map((column) => column.length));
  for (const [name, column] of Object.entries(columns)) {
    result[name] = times.includes(name) ? column.map((at) => shifted(at) ?? NaN) : values(column, size);
  }
  return result;
}

function values(column: readonly Cell[], size: number): unknown {
  if (column.some((value) => typeof value === "string")) return column.slice(0, size);
  return Float64Array.from({ length: size }, (_, row) => (column[row] as number | null | undefined) ?? NaN);
}
