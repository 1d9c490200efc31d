// How numbers and times are written; text/numbers.py is the same in Python and tests/cases/numbers.json binds both.

export const UNKNOWN = "n/a";
const MINUS = "\u2212";
const ELLIPSIS = "\u2026";
const DECIMAL = ["", "k", "M", "G", "T", "P"];
const BINARY = [" B", " KiB", " MiB", " GiB", " TiB", " PiB"];
const LONG: [number, number, number, string, string][] = [
  [3_599_500, 1000, 60, "min", "s"],
  [86_370_000, 60_000, 60, "h", "min"],
  [Infinity, 3_600_000, 24, "d", "h"],
];
const LARGEST = 1e300;

type Value = number | string | null | undefined;

/** A count with three significant digits: `12.4k`. */
export function number(x: Value): string {
  const value = known(x);
  return value === null ? UNKNOWN : scaled(value, 1000, DECIMAL);
}

/** Bytes in binary units: `1.2 MiB`. */
export function size(x: Value): string {
  const value = known(x);
  return value === null ? UNKNOWN : scaled(value, 1024, BINARY);
}

/** A number a second: `148/s`. */
export function rate(x: Value): string {
  const text = number(x);
  return text === UNKNOWN ? text : `${text}/s`;
}

/** Milliseconds: `870 ms`, `3.4 s`, `2 min 10 s`. */
export function duration(ms: Value): string {
  const known_ = known(ms);
  if (known_ === null) return UNKNOWN;
  const sign = known_ < 0 ? MINUS : "";
  const value = Math.abs(known_);
  if (value < 9.95) {
    const tenths = round(value * 10);
    return tenths || !value ? `${sign}${decimal(tenths, 1)} ms` : `${beyond(sign)}0.1 ms`;
  }
  if (value < 999.5) return `${sign}${round(value)} ms`;
  if (value < 59_950) return `${sign}${decimal(round(value / 100), 1)} s`;
  for (const [limit, unit, base, large, small] of LONG) {
    if (value >= limit) continue;
    const total = round(value / unit);
    const rest = total % base;
    const whole = (total - rest) / base;
    return rest ? `${sign}${whole} ${large} ${rest} ${small}` : `${sign}${whole} ${large}`;
  }
  return UNKNOWN;
}

/** A share of 1 as whole percent. */
export function percent(share: Value): string {
  const value = known(share);
  return value === null ? UNKNOWN : `${round(value * 100)} %`.replace("-", MINUS);
}

/** A number as it was sent, digits in groups from five digits on. */
export function exact(x: Value): string {
  const value = known(x);
  if (value === null) return UNKNOWN;
  if (!Number.isInteger(value)) return String(value).replace("-", MINUS);
  const text = Math.abs(value) >= 10_000 ? value.toLocaleString("en-US") : String(value);
  return text.replace("-", MINUS);
}

/** Shortens in the middle to at most `length` characters (code points). */
export function middle(text: string, length: number): string {
  const points = Array.from(text);
  if (points.length <= length) return text;
  const keep = Math.max(length - 1, 0);
  const tail = Math.floor(keep / 2);
  return points.slice(0, keep - tail).join("") + ELLIPSIS + (tail ? points.slice(-tail).join("") : "");
}

const FORMATS: Record<string, (x: Value) => string> = { number, size, rate, duration, percent, exact };

/** Writes a value by the name of its format; an unknown name writes a plain number. */
export function write(format: string, value: Value): string {
  return (FORMATS[format] ?? number)(value);
}

/** Time of day in the reader's zone, `14:02:31`. */
export function clock(ms: number): string {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** The reader's zone with its present offset, `Europe/Berlin (UTC+1)`. */
export function zone(now: Date = new Date()): string {
  const minutes = -now.getTimezoneOffset();
  const hours = Math.trunc(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const offset = `UTC${minutes < 0 ? MINUS : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return minutes === 0 ? "UTC" : `${name} (${offset})`;
}

/** Epoch milliseconds moved so that an axis in UTC shows the reader's time; the offset is that of the moment itself. */
export function shifted(ms: Value): number | null {
  const value = known(ms);
  return value === null ? null : value - new Date(value).getTimezoneOffset() * 60_000;
}

function known(x: Value): number | null {
  if (x === null || x === undefined || x === "") return null;
  const value = Number(x);
  return Math.abs(value) < LARGEST ? value : null;
}

function round(x: number): number {
  return Math.floor(x + 0.5);
}

function decimal(digits: number, places: number): string {
  const base = 10 ** places;
  const fraction = places
    ? String(digits % base)
        .padStart(places, "0")
        .replace(/0+$/, "")
    : "";
  const whole = Math.floor(digits / base);
  return fraction ? `${whole}.${fraction}` : String(whole);
}

function scaled(x: number, base: number, units: readonly string[]): string {
  const sign = x < 0 ? MINUS : "";
  let value = Math.abs(x);
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= base;
    unit += 1;
  }
  const places = value < 1 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const digits = round(value * 10 ** places);
  const name = units[unit] ?? "";
  return !digits && value ? `${beyond(sign)}0.001${name}` : `${sign}${decimal(digits, places)}${name}`;
}

function beyond(sign: string): string {
  return sign ? `>${sign}` : "<";
}
