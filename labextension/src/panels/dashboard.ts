// One view of a dashboard: overview, hints, charts, numbers, facts. It renders from a store and holds no truth.

import { Announcer } from "./announcer.ts";
import type { Bokeh } from "../charts/bokeh.ts";
import { Charts } from "../charts/charts.ts";
import { CheckpointCard } from "./checkpoint.ts";
import { Cursor } from "../charts/cursor.ts";
import { Facts, Numbers } from "./details.ts";
import { explaining } from "./evidence.ts";
import { button, h, setShown, setText } from "../dom/dom.ts";
import { clock, zone } from "../dom/format.ts";
import { Hints } from "./hints.ts";
import { handleKey } from "../dom/keys.ts";
import { statusText, type Link } from "../wire/link.ts";
import { Overview } from "./overview.ts";
import { Pace } from "../charts/pace.ts";
import type { Columns, Data } from "../wire/protocol.ts";
import { length, spans, type Change, type Store } from "../wire/store.ts";
import { followTheme, type Wish } from "../dom/theme.ts";

export interface Options {
  store: Store;
  /** The wire to the kernel; a report has none. */
  link: Link | null;
  bokeh: () => Promise<Bokeh>;
  theme: () => Wish;
}

export class Dashboard {
  readonly element = h("div", "sw-root");
  // Not crypto.randomUUID: pages served over plain http, as many hubs are, do not have it.
  private readonly id = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
  private readonly status = h("p", "sw-status");
  private readonly empty = h("p", "sw-empty", "No streaming query yet. Start one and it appears here.");
  private readonly overview: Overview;
  private readonly hints: Hints;
  private readonly charts: Charts;
  private readonly numbers = new Numbers();
  private readonly checkpoint = new CheckpointCard();
  private readonly facts = new Facts();
  private readonly bar = h("div", "sw-chart-bar");
  private readonly barName = h("bdi", "sw-bar-name");
  private readonly barBatch = h("span", "sw-bar-batch");
  private readonly barZone = h("span", "sw-bar-zone sw-muted");
  private readonly below = h("a", "sw-link", "Facts, runs and all batches ↓");
  private readonly live: HTMLButtonElement;
  private readonly announcer = new Announcer();
  private readonly observer: IntersectionObserver;
  private readonly stops: (() => void)[] = [];
  private mounted = false;
  private unfollow: () => void = () => undefined;
  private dirty: Change = { lines: true, charts: true, data: true, session: true };
  private frame = 0;
  private onScreen = false;
  private wanted: string | null = null;
  private readonly cursor = new Cursor(() => this.refill());
  private readonly pace = new Pace(() => this.refill());

  constructor(private readonly options: Options) {
    this.overview = new Overview({
      select: (id) => this.select(id),
      explain: (id) => {
        this.select(id);
        requestAnimationFrame(() => this.hints.open());
      },
    });
    const { link } = options;
    const show = (batch: number) => this.showBatch(batch);
    this.hints = new Hints(link ? { show, hide: (code) => link.hide(code) } : { show });
    this.charts = new Charts({
      point: (row) => this.point(row),
      following: () => this.refill(),
    });
    this.live = button("sw-live", link ? "Live" : "Whole run", () => this.goLive());
    this.build();
    this.observer = new IntersectionObserver((entries) => {
      this.onScreen = entries.some((entry) => entry.isIntersecting);
      this.look();
    });
    this.observer.observe(this.element);
    const look = () => this.look();
    document.addEventListener("visibilitychange", look);
    this.stops.push(() => document.removeEventListener("visibilitychange", look));
    this.stops.push(options.store.subscribe((change) => this.queue(change)));
    link?.onConnection(() => this.queue({ lines: false, charts: false, data: false, session: true }));
    this.paint();
  }

  /** Puts the view into its place; call it again after it was moved. */
  mount(place: HTMLElement): void {
    this.mounted = true;
    place.append(this.element);
    this.followTheme();
    this.queue({ lines: true, charts: true, data: true, session: true });
  }

  /** Reads anew which theme is wished, and follows it. */
  followTheme(): void {
    this.unfollow();
    this.unfollow = followTheme(this.element, this.options.theme, () => this.charts.repaint());
  }

  /** Takes the view off the page; it can be mounted again. */
  unmount(): void {
    this.mounted = false;
    this.element.remove();
    this.onScreen = false;
    this.unfollow();
    this.options.link?.leave(this.id);
  }

  close(): void {
    this.unmount();
    this.observer.disconnect();
    for (const stop of this.stops) stop();
    cancelAnimationFrame(this.frame);
    this.cursor.clear();
    this.pace.close();
    this.charts.close();
  }

  private build(): void {
    const { element } = this;
    element.tabIndex = 0;
    element.dataset.lmSuppressShortcuts = "true";
    element.setAttribute("role", "region");
    element.setAttribute("aria-label", "Streaming queries");
    this.barName.dir = "auto";
    this.bar.append(this.barName, this.barBatch, this.live, this.barZone);
    element.append(this.status, this.empty, this.overview.element, this.hints.element, this.bar);
    element.append(this.charts.element, this.numbers.element, this.checkpoint.element);
    // A report has the facts of every query below: there the way leads from here.
    if (this.options.link) element.append(this.facts.element);
    else this.bar.insertBefore(this.below, this.live);
    element.append(this.announcer.element);
    element.addEventListener("keydown", (event) => {
      handleKey(event, {
        batch: (step) => this.stepBatch(step),
        query: (step) => this.stepQuery(step),
        live: () => this.goLive(),
      });
    });
    element.addEventListener("click", (event) => {
      if (!element.contains(document.activeElement)) element.focus({ preventScroll: true });
      event.stopPropagation(); // a click in here does not select the notebook's cell
    });
  }

  private look(): void {
    if (!this.mounted) return;
    const visible = this.isVisible();
    this.options.link?.visible(this.id, visible, this.hidesStills());
    if (visible) this.queue({ lines: false, charts: false, data: false, session: false });
  }

  private isVisible(): boolean {
    return this.onScreen && document.visibilityState === "visible" && this.element.isConnected;
  }

  /** Whether style hides the stills of this view (style/stills.css): they stand around it, in the outputs of a cell. */
  private hidesStills(): boolean {
    const before = this.element.closest(".jp-OutputArea-child")?.previousElementSibling;
    return CSS.supports("selector(:has(a))") && Boolean(before?.querySelector(".sw-still"));
  }

  /** The charts may go on: shows what came meanwhile. */
  private refill(): void {
    this.queue({ lines: false, charts: false, data: true, session: false });
  }

  private queue(change: Change): void {
    for (const part of Object.keys(change) as (keyof Change)[]) this.dirty[part] ||= change[part];
    this.mark();
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.isVisible()) this.paint();
    });
  }

  private paint(): void {
    const { dirty } = this;
    const { store } = this.options;
    this.dirty = { lines: false, charts: false, data: false, session: false };
    if (this.wanted !== null && (store.selected === this.wanted || !store.line(this.wanted))) this.wanted = null;
    if (dirty.session || dirty.lines) this.paintStatus();
    if (dirty.lines || dirty.charts) this.paintLines();
    if (dirty.charts) this.arrange();
    if (dirty.lines || dirty.charts) this.explain();
    if (dirty.charts || (dirty.data && (!this.charts.ready || this.pace.isFree()))) this.paintData();
    else this.dirty.data ||= dirty.data;
    if (!this.charts.ready && store.charts) void this.draw();
    this.mark();
  }

  private paintData(): void {
    const { charts, cursor, pace } = this;
    if (charts.ready && cursor.isReading) this.dirty.data = true;
    else {
      pace.begin();
      charts.fill(this.data);
    }
    charts.describe(this.lastRow());
    this.paintCursor();
  }

  private paintStatus(): void {
    const { store, link } = this.options;
    const text = statusText(store.session, link?.connection ?? "live");
    const last = Date.parse(store.taken);
    const words = text && Number.isFinite(last) ? `${text} Last update ${clock(last)}.` : text;
    setText(this.status, words);
    setShown(this.status, words !== "");
    this.element.classList.toggle("sw-stale", words !== "");
  }

  private paintLines(): void {
    const { store } = this.options;
    const selected = this.wanted ?? store.selected;
    const line = store.line(selected);
    setShown(this.empty, store.lines.length === 0);
    this.overview.update(store.lines, selected);
    this.hints.update(line);
    this.checkpoint.update(line);
    this.facts.update(line);
    this.charts.element.classList.toggle("sw-waiting", this.wanted !== null);
    setText(this.barName, store.lines.length > 1 ? (line?.name ?? "") : "");
    this.barName.title = line?.fullName ?? "";
    this.barName.classList.toggle("sw-shortened", line !== undefined && line.name !== line.fullName);
    this.below.href = `#query-${String(line ? store.lines.indexOf(line) : 0)}`; // report/page.py
    this.announcer.update(store.lines);
  }

  private arrange(): void {
    const { store } = this.options;
    this.cursor.clear();
    this.charts.arrange(store.charts);
    setShown(this.bar, store.charts !== null);
    setText(this.barZone, `Times in ${zone()}`);
  }

  /** The chart that explains the top hint comes first, unless someone reads where the charts are. */
  private explain(): void {
    if (this.cursor.isReading || !this.charts.following) return;
    const { store } = this.options;
    const hint = store.line(store.selected)?.hints[0];
    this.charts.explain(explaining(hint, store.charts?.roots ?? []), hint);
  }

  private async draw(): Promise<void> {
    try {
      const bokeh = await this.options.bokeh();
      await this.charts.draw(bokeh);
      this.paintCursor();
      this.mark();
    } catch (error) {
      this.element.dataset.problem = String(error);
      const reason = error instanceof Error ? error.message : String(error);
      setText(this.barBatch, `The charts cannot be drawn here: ${reason}`);
    }
  }

  private paintCursor(): void {
    const { batches, cursor } = this;
    const looked = cursor.row(batches);
    const row = looked ?? this.lastRow();
    const pointed = looked !== null;
    this.charts.show(row, pointed);
    const id = batches.batchId?.[row];
    const at = batches.timestamp?.[row];
    const when = typeof at === "number" ? ` · ${clock(at)}` : "";
    const kind = batches.kind?.[row] === "no-data" ? " · no data" : "";
    const which = pointed ? "Batch" : "Last batch";
    const text = id === null || id === undefined ? "" : `${which} ${String(id)}${when}${kind}`;
    if (!this.element.dataset.problem) setText(this.barBatch, text);
    this.live.classList.toggle("sw-away", this.charts.following && !cursor.isPinned);
    const times = new Set(this.options.store.charts?.timeColumns.batches ?? []);
    this.numbers.update(batches, row, times);
    this.element.dataset.cursor = pointed ? String(id) : "";
  }

  /** Stable marks for tests and for whoever styles the page. */
  private mark(): void {
    const { store, link } = this.options;
    const { dataset } = this.element;
    const ids = store.data?.batches.batchId ?? [];
    dataset.n = String(store.n);
    dataset.selected = store.selected ?? "";
    dataset.queries = String(store.lines.length);
    dataset.batchCount = String(ids.length);
    dataset.batches = spans(ids);
    dataset.lastBatch = String(ids.at(-1) ?? "");
    dataset.charts = String(this.charts.ready ? store.charts?.roots.length : 0);
    dataset.painted = String(this.charts.painted);
    dataset.connection = store.session.state === "live" ? (link?.connection ?? "report") : store.session.state;
  }

  private select(id: string): void {
    const { store, link } = this.options;
    if (id === store.selected && this.wanted === null) return;
    if (store.choose(id)) return;
    this.wanted = id;
    link?.select(id);
    this.queue({ lines: true, charts: false, data: false, session: false });
  }

  private stepQuery(step: number): void {
    const id = this.overview.neighbour(step);
    if (id === null) return;
    this.select(id);
    this.overview.focus(id);
  }

  private stepBatch(step: number): void {
    const last = this.lastRow();
    const from = this.cursor.row(this.batches) ?? last;
    this.pin(Math.min(Math.max(from + step, 0), last));
  }

  private showBatch(id: number): void {
    const row = this.batches.batchId?.lastIndexOf(id) ?? -1;
    if (row < 0) return;
    this.pin(row);
    this.charts.element.scrollIntoView({ block: "nearest" });
  }

  private pin(row: number): void {
    if (row < 0) return;
    this.charts.reach(row, this.data);
    this.cursor.pin(this.batches, row);
    this.paintCursor();
  }

  private point(row: number | null): void {
    if (this.cursor.point(row)) this.paintCursor();
  }

  private goLive(): void {
    this.cursor.clear();
    this.charts.follow();
    this.pace.free();
    this.refill();
  }

  private lastRow(): number {
    return length(this.batches) - 1;
  }

  private get data(): Data {
    return this.options.store.data ?? { batches: {}, marks: {} };
  }

  private get batches(): Columns {
    return this.data.batches;
  }
}
