// The marks of states and levels.

import { svg } from "./dom.ts";
import type { Level } from "../wire/protocol.ts";

const SHAPES: Record<string, [string, Record<string, string | number>][]> = {
  disc: [["circle", { cx: 6, cy: 6, r: 4.5 }]],
  half: [
    ["circle", { cx: 6, cy: 6, r: 4, class: "sw-hollow" }],
    ["path", { d: "M6 2 A4 4 0 0 0 6 10 Z" }],
  ],
  triangle: [["path", { d: "M6 1 L11.2 10.6 H0.8 Z" }]],
  square: [["rect", { x: 1.75, y: 1.75, width: 8.5, height: 8.5, rx: 1 }]],
  ring: [["circle", { cx: 6, cy: 6, r: 4, class: "sw-hollow" }]],
};

/** The mark of a state: a shape of its own for each level, so that colour is never alone. */
export function shape(name: string): SVGElement {
  const parts = SHAPES[name] ?? SHAPES.ring ?? [];
  const children = parts.map(([tag, attributes]) => svg(tag, attributes));
  return svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, ...children);
}

const LEVEL_SHAPES: Record<Level, string> = {
  ok: "disc",
  info: "half",
  warning: "triangle",
  critical: "square",
  muted: "ring",
};

/** The mark of a level. */
export function levelShape(level: Level): SVGElement {
  return shape(LEVEL_SHAPES[level]);
}
