// The hints of the selected query: what was found, what shows it, and, folded, why and what to do.

import { button, h, setShown } from "./dom.ts";
import { clock, duration, exact, number, percent, rate, size } from "./format.ts";
import { levelShape } from "./overview.ts";
import type { Evidence, Hint, Line } from "./protocol.ts";

const FORMATS: Record<string, (value: number) => string> = {
  ms: duration,
  bytes: size,
  share: percent,
  "rows/s": rate,
  time: clock,
  "": number,
};

export interface HintActions {
  /** Shows a batch on the charts. */
  show: (batchId: number) => void;
  /** Does not show hints of this rule again; absent where nobody could remember it. */
  hide?: (code: string) => void;
}

/** A list, most important first, symptoms under their cause; opened folds stay open. */
export class Hints {
  readonly element = h("section", "sw-hints");
  private readonly opened = new Set<string>();
  private painted = "";

  constructor(private readonly actions: HintActions) {
    this.element.setAttribute("aria-label", "Hints");
  }

  update(line: Line | undefined): void {
    const now = JSON.stringify([line?.id, line?.hints, line?.details, line?.state]);
    if (now === this.painted || holdsSelection(this.element)) return;
    this.painted = now;
    const items = (line?.hints ?? []).map((hint) => this.item(hint));
    if (line?.details) items.push(this.error(line.details));
    const well = line && items.length === 0 && line.state.level === "ok" && !line.ended;
    this.element.replaceChildren(...(well ? [calm()] : items));
    setShown(this.element, this.element.childElementCount > 0);
  }

  /** Opens the hints of a line and goes there. */
  open(): void {
    const first = this.element.querySelector("details");
    if (!first) return;
    first.open = true;
    first.scrollIntoView({ block: "nearest" });
    first.querySelector("summary")?.focus({ preventScroll: true });
  }

  private item(hint: Hint): HTMLElement {
    const mark = h("span", "sw-shape");
    mark.append(levelShape(hint.severity));
    const word = h("span", "sw-word", SEVERITIES[hint.severity]);
    const title = h("bdi", "sw-hint-title", hint.title);
    const body = h("div", "sw-hint-body");
    if (hint.cause) body.append(part("Why", hint.cause));
    if (hint.fix) body.append(part("Fix", hint.fix));
    if (hint.effect) body.append(part("Effect", hint.effect.text));
    if (hint.code_fix) body.append(code(hint.code_fix));
    body.append(this.foot(hint));
    const fold = this.fold(hint.code, h("summary", "", mark, word, title), body);
    const element = h("article", hint.under ? "sw-hint sw-under" : "sw-hint", fold);
    element.dataset.level = hint.severity;
    element.dataset.code = hint.code;
    if (hint.evidence.length) fold.after(this.evidence(hint.evidence));
    return element;
  }

  private error(details: string): HTMLElement {
    const text = h("pre", "sw-error", details);
    text.dir = "auto";
    text.tabIndex = 0;
    const element = h("article", "sw-hint", this.fold(" error", h("summary", "", "The error in full"), text));
    element.dataset.level = "critical";
    return element;
  }

  private fold(key: string, summary: HTMLElement, body: HTMLElement): HTMLDetailsElement {
    const fold = h("details", "", summary, body);
    fold.open = this.opened.has(key);
    fold.addEventListener("toggle", () => {
      if (fold.open) this.opened.add(key);
      else this.opened.delete(key);
    });
    return fold;
  }

  private evidence(evidence: readonly Evidence[]): HTMLElement {
    const list = h("div", "sw-evidence");
    for (const one of evidence) {
      const item = h("span", "sw-fact", h("span", "sw-muted", `${one.name} `), valueOf(one));
      if (typeof one.value === "number") item.title = exact(one.value);
      list.append(item);
    }
    const batches = [...new Set(evidence.flatMap((one) => one.batches))].slice(-5);
    if (batches.length) list.append(this.batchLinks(batches));
    return list;
  }

  private batchLinks(batches: readonly number[]): HTMLElement {
    const links = batches.map((id) => {
      const link = button("sw-link", String(id), () => this.actions.show(id));
      link.setAttribute("aria-label", `Show batch ${id} on the charts`);
      return link;
    });
    const word = batches.length === 1 ? "batch " : "batches ";
    return h("span", "sw-fact sw-batches", h("span", "sw-muted", word), ...links);
  }

  private foot(hint: Hint): HTMLElement {
    const foot = h("div", "sw-hint-foot");
    if (hint.link.startsWith("https://")) {
      const link = h("a", "", "Spark's documentation");
      link.href = hint.link;
      link.target = "_blank";
      link.rel = "noopener noreferrer";
      foot.append(link);
    }
    const { hide } = this.actions;
    if (hide) {
      foot.append(
        button("sw-link", "Don't show this rule again", () => hide(hint.code)),
      );
    }
    return foot;
  }
}

const SEVERITIES: Record<Hint["severity"], string> = { critical: "Critical", warning: "Warning", info: "Info" };

function valueOf(evidence: Evidence): string {
  if (typeof evidence.value === "string") return evidence.value;
  const write = FORMATS[evidence.unit];
  return write ? write(evidence.value) : `${number(evidence.value)} ${evidence.unit}`;
}

function part(label: string, text: string): HTMLElement {
  const content = h("span", "", text);
  content.dir = "auto";
  return h("p", "", h("b", "", label), content);
}

/** Code to paste, with a button that says what it did. */
function code(text: string): HTMLElement {
  const block = h("pre", "", text);
  block.tabIndex = 0;
  const copy = button("sw-copy", "Copy", () => {
    void copyText(text, block).then((done) => {
      copy.textContent = done ? "Copied" : "Select and copy";
      setTimeout(() => copy.textContent = "Copy", 2000);
    });
  });
  copy.setAttribute("aria-live", "polite");
  return h("div", "sw-code", block, copy);
}

async function copyText(text: string, block: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(block); // no clipboard on plain http: the text is selected, one key is left
    return false;
  }
}

function calm(): HTMLElement {
  const mark = h("span", "sw-shape");
  mark.append(levelShape("ok"));
  const line = h("p", "sw-calm", mark, h("span", "", "All is well: nothing to hint at."));
  line.dataset.level = "ok";
  return line;
}

/** Whether the reader is selecting text in there: it is not replaced under the pointer. */
function holdsSelection(element: HTMLElement): boolean {
  const selection = getSelection();
  return Boolean(selection && !selection.isCollapsed && selection.anchorNode && element.contains(selection.anchorNode));
}
