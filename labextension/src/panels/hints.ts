// The hints of the selected query: what was found, what shows it, and, folded, why and what to do.

import { withCopy } from "../dom/copy.ts";
import { button, h, setAttribute, setShown, setText } from "../dom/dom.ts";
import { clock, duration, exact, number, percent, rate, size } from "../dom/format.ts";
import { levelShape } from "../dom/shapes.ts";
import type { Evidence, Hint, Line } from "../wire/protocol.ts";

const FORMATS: Record<string, (value: number) => string> = {
  ms: duration,
  bytes: size,
  share: percent,
  "rows/s": rate,
  time: clock,
  "": number,
};
const SEVERITIES: Record<Hint["severity"], string> = { critical: "Critical", warning: "Warning", info: "Info" };

export interface HintActions {
  /** Shows a batch on the charts. */
  show: (batchId: number) => void;
  /** Does not show hints of this rule again; absent where nobody could remember it. */
  hide?: (code: string) => void;
}

/** A list, most important first, symptoms under their cause. What is open or in focus stays when numbers change. */
export class Hints {
  readonly element = h("section", "sw-hints");
  private readonly views = new Map<string, HintView>();
  private readonly opened = new Set<string>();
  private readonly error = new ErrorText();
  private readonly well = calm();
  private shown: string | null = null;

  constructor(private readonly actions: HintActions) {
    this.element.setAttribute("aria-label", "Hints");
  }

  update(line: Line | undefined): void {
    if (this.shown !== (line?.id ?? null)) {
      this.shown = line?.id ?? null;
      this.views.clear();
      this.opened.clear();
    }
    const hints = line?.hints ?? [];
    const items: HTMLElement[] = hints.map((hint) => this.view(hint).element);
    if (line?.details) items.push(this.error.update(line.details));
    if (line && items.length === 0 && line.state.level === "ok" && !line.ended) items.push(this.well);
    for (const child of [...this.element.children]) {
      if (!items.includes(child as HTMLElement)) child.remove();
    }
    items.forEach((item, at) => {
      if (this.element.children[at] !== item) this.element.insertBefore(item, this.element.children[at] ?? null);
    });
    setShown(this.element, items.length > 0);
  }

  /** Opens the first hint and goes there. */
  open(): void {
    const first = this.element.querySelector<HTMLElement>(".sw-hint-head");
    if (first?.getAttribute("aria-expanded") === "false") first.click();
    first?.scrollIntoView({ block: "nearest" });
    first?.focus({ preventScroll: true });
  }

  private view(hint: Hint): HintView {
    let view = this.views.get(hint.code);
    if (!view) {
      view = new HintView(hint.code, this.actions, this.opened);
      this.views.set(hint.code, view);
    }
    view.update(hint);
    return view;
  }
}

class HintView {
  readonly element = h("article", "sw-hint");
  private readonly mark = h("span", "sw-shape");
  private readonly word = h("span", "sw-word");
  private readonly title = h("bdi", "sw-hint-title");
  private readonly head: HTMLButtonElement;
  private readonly evidence = h("div", "sw-evidence");
  private readonly body = h("div", "sw-hint-body");
  private readonly cause = new Part("Why");
  private readonly fix = new Part("Fix");
  private readonly effect = new Part("Effect");
  private readonly code = h("pre");
  private readonly link = h("a", "", "Spark's documentation");
  private painted = "";

  constructor(
    code: string,
    private readonly actions: HintActions,
    private readonly opened: Set<string>,
  ) {
    this.element.dataset.code = code;
    this.head = button("sw-hint-head", "", () => this.toggle(code));
    this.head.append(this.mark, this.word, this.title);
    this.code.tabIndex = 0;
    this.link.target = "_blank";
    this.link.rel = "noopener noreferrer";
    const foot = h("div", "sw-hint-foot", this.link);
    const { hide } = actions;
    if (hide) foot.append(button("sw-link", "Don't show this rule again", () => hide(code)));
    this.body.append(this.cause.element, this.fix.element, this.effect.element, withCopy(this.code), foot);
    this.element.append(this.head, this.evidence, this.body);
    this.paintFold(code);
  }

  update(hint: Hint): void {
    this.element.classList.toggle("sw-under", hint.under !== null);
    if (setAttribute(this.element, "data-level", hint.severity)) this.mark.replaceChildren(levelShape(hint.severity));
    setText(this.word, SEVERITIES[hint.severity]);
    setText(this.title, hint.title);
    this.cause.update(hint.cause);
    this.fix.update(hint.fix);
    this.effect.update(hint.effect?.text ?? "");
    setText(this.code, hint.code_fix ?? "");
    if (this.code.parentElement) setShown(this.code.parentElement, hint.code_fix !== null);
    const safe = hint.link.startsWith("https://");
    setShown(this.link, safe);
    setAttribute(this.link, "href", safe ? hint.link : null);
    this.paintEvidence(hint.evidence);
  }

  private toggle(code: string): void {
    if (!this.opened.delete(code)) this.opened.add(code);
    this.paintFold(code);
  }

  private paintFold(code: string): void {
    const open = this.opened.has(code);
    setAttribute(this.head, "aria-expanded", String(open));
    setShown(this.body, open);
  }

  private paintEvidence(evidence: readonly Evidence[]): void {
    const now = JSON.stringify(evidence);
    if (now === this.painted || this.evidence.contains(document.activeElement)) return;
    this.painted = now;
    const items = evidence.map((one) => {
      const item = h("span", "", h("span", "sw-muted", `${one.name} `), valueOf(one));
      if (typeof one.value === "number") item.title = exact(one.value);
      return item;
    });
    const batches = [...new Set(evidence.flatMap((one) => one.batches))].sort((a, b) => a - b).slice(-5);
    if (batches.length) items.push(this.batchLinks(batches));
    this.evidence.replaceChildren(...items);
    setShown(this.evidence, items.length > 0);
  }

  private batchLinks(batches: readonly number[]): HTMLElement {
    const links = batches.map((id) => {
      const link = button("sw-link", String(id), () => this.actions.show(id));
      link.setAttribute("aria-label", `Show batch ${id} on the charts`);
      return link;
    });
    return h("span", "sw-batches", h("span", "sw-muted", batches.length === 1 ? "batch " : "batches "), ...links);
  }
}

/** A labelled sentence; hidden without one. */
class Part {
  readonly element: HTMLElement;
  private readonly text = h("span");

  constructor(label: string) {
    this.text.dir = "auto";
    this.element = h("p", "", h("b", "", label), this.text);
  }

  update(text: string): void {
    setText(this.text, text);
    setShown(this.element, text !== "");
  }
}

/** The full text of an error, folded. */
class ErrorText {
  private readonly text = h("pre", "sw-error");
  private readonly element = h("details", "sw-fold-section", h("summary", "", "The error in full"), this.text);

  constructor() {
    this.text.tabIndex = 0;
    this.text.dir = "auto";
  }

  update(text: string): HTMLElement {
    setText(this.text, text);
    return this.element;
  }
}

function valueOf(evidence: Evidence): string {
  if (typeof evidence.value === "string") return evidence.value;
  const write = FORMATS[evidence.unit];
  return write ? write(evidence.value) : `${number(evidence.value)} ${evidence.unit}`;
}

function calm(): HTMLElement {
  const mark = h("span", "sw-shape");
  mark.append(levelShape("ok"));
  const line = h("p", "sw-calm", mark, h("span", "", "All is well: nothing to hint at."));
  line.dataset.level = "ok";
  return line;
}
