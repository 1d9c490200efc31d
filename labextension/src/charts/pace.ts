// How often charts are drawn: what one drawing costs decides when the next may come. The page shares its cores with
// Spark on many machines, and whoever else draws in it.

/** A drawing is followed by a pause of this many times its length. */
const PAUSE = 9;
/** Milliseconds that pass without work until the frame in which Bokeh draws. */
const FRAME = 17;
/** Milliseconds until the next one where nothing can be measured: no frame comes in a hidden page. */
const UNKNOWN = 1000;

export class Pace {
  private next = 0;
  private timer = 0;

  /** `again` is called when a drawing that had to wait may begin. */
  constructor(private readonly again: () => void) {}

  /** Whether a drawing may begin now. */
  isFree(): boolean {
    const left = this.next - performance.now();
    if (left <= 0) return true;
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.again();
    }, left);
    return false;
  }

  /** A drawing begins: the sources get their rows now, and Bokeh draws in the next frame. */
  begin(): void {
    const begun = performance.now();
    this.next = begun + UNKNOWN;
    requestAnimationFrame(() => {
      window.setTimeout(() => {
        const now = performance.now();
        this.next = now + PAUSE * Math.max(now - begun - FRAME, 0);
      }, 0);
    });
  }

  /** The next drawing need not wait: a person asks for it. */
  free(): void {
    this.next = 0;
  }

  close(): void {
    window.clearTimeout(this.timer);
  }
}
