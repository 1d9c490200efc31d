// The page's end of the wire: requests are repeated until answered, views tell whether anybody looks.

import type { Message, Request, Session, Snapshot } from "./protocol.ts";
import type { Store } from "./store.ts";

/** What a link needs of an anywidget model. */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(name: string, callback: (...values: unknown[]) => void): void;
  off(name: string, callback?: (...values: unknown[]) => void): void;
}

export type Connection = "live" | "quiet" | "gone";

const REPEAT_MS = 2_000;
/** Views renew their lease in this time; the kernel lets one lapse after three of them. */
const RENEW_MS = 10_000;
/** The kernel says something at least every RENEW_MS while a view is visible. */
const QUIET_MS = 25_000;

/** Connects one model's store to the kernel. */
export class Link {
  connection: Connection = "live";
  private readonly views = new Map<string, { visible: boolean; stills: boolean }>();
  private readonly waiting = new Map<string, { request: Request; answered: () => boolean }>();
  private readonly handlers: [string, (...values: unknown[]) => void][];
  private readonly timers: ReturnType<typeof setInterval>[];
  private heard: number;
  private changed: () => void = () => undefined;

  constructor(
    private readonly model: Model,
    private readonly store: Store,
    private readonly clock: () => number = () => Date.now(),
  ) {
    this.heard = clock();
    this.take(model.get("snapshot"));
    this.handlers = [
      ["change:snapshot", () => this.take(model.get("snapshot"))],
      ["msg:custom", (message) => this.receive(message as Message)],
      ["comm_live_update", () => this.lost()],
      ["comm:close", () => this.lost()],
    ];
    for (const [name, handler] of this.handlers) model.on(name, handler);
    this.timers = [setInterval(() => this.repeat(), REPEAT_MS), setInterval(() => this.renew(), RENEW_MS)];
  }

  /** Calls `changed` when the connection is lost or is back. */
  onConnection(changed: () => void): void {
    const before = this.changed;
    this.changed = () => {
      before();
      changed();
    };
  }

  select(id: string): void {
    this.ask("select", { type: "select", id }, () => this.store.selected === id || !this.store.line(id));
  }

  hide(code: string): void {
    this.post({ type: "hide", code });
    this.store.hide(code);
  }

  /** Tells the kernel whether a view is looked at, and whether stills around it would be hidden. */
  visible(view: string, visible: boolean, stills = false): void {
    const before = this.views.get(view);
    if (before?.visible === visible && before.stills === stills) return;
    this.views.set(view, { visible, stills });
    if (visible) this.heard = this.clock();
    this.post({ type: "visible", view, visible, stills });
  }

  leave(view: string): void {
    if (this.views.get(view)?.visible) this.visible(view, false);
    this.views.delete(view);
  }

  close(): void {
    for (const timer of this.timers) clearInterval(timer);
    for (const [name, handler] of this.handlers) this.model.off(name, handler);
  }

  private take(snapshot: unknown): void {
    if (snapshot && typeof snapshot === "object" && "lines" in snapshot) this.store.load(snapshot as Snapshot);
  }

  private receive(message: Message): void {
    this.heard = this.clock();
    this.set("live");
    if (this.store.apply(message) !== "gap") return;
    const missing = this.store.n;
    this.ask("resync", { type: "resync" }, () => this.store.n > missing);
  }

  /** The comm of this model is closed: its kernel was restarted or is gone. */
  private lost(): void {
    this.set("gone");
  }

  private ask(key: string, request: Request, answered: () => boolean): void {
    if (this.waiting.get(key)?.request === request) return;
    const asked = this.waiting.has(key) && key === "resync";
    this.waiting.set(key, { request, answered });
    if (!asked) this.post(request);
  }

  /** Sends a request; a comm that is closed throws, and the pages of a kernel that is gone still scroll. */
  private post(request: Request): void {
    try {
      this.model.send(request);
    } catch {
      this.lost();
    }
  }

  private repeat(): void {
    for (const [key, { request, answered }] of this.waiting) {
      if (answered()) this.waiting.delete(key);
      else this.post(request);
    }
  }

  private renew(): void {
    let looked = false;
    for (const [view, { visible, stills }] of this.views) {
      if (!visible) continue;
      looked = true;
      this.post({ type: "visible", view, visible, stills });
    }
    if (looked && this.connection === "live" && this.clock() - this.heard > QUIET_MS) this.set("quiet");
  }

  private set(connection: Connection): void {
    if (connection === this.connection) return;
    this.connection = connection;
    this.changed();
  }
}

/** What is said above the dashboard; empty when all is well. */
export function statusText(session: Session, connection: Connection): string {
  if (session.state !== "live") return session.text || "The Spark session has stopped.";
  if (connection === "gone") return "The kernel that drew this is gone.";
  return connection === "quiet" ? "No word from the kernel for a while." : "";
}
