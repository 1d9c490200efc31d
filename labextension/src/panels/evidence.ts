// Which chart shows what a hint rests on.

import type { ChartRoot, Hint } from "../wire/protocol.ts";

/** Where several charts show something of a hint, the one that stands first here says most about it. */
const TELLING = ["batch-time", "event-time", "state-rows", "state-memory", "backlog", "rows-per-batch"];
/** Spark has two names for the time of a batch. */
const ALIASES: Record<string, string> = { triggerExecution: "batchDuration" };

/** The name of the chart that explains a hint, null when none does; what is merely good to know moves no chart. */
export function explaining(hint: Hint | undefined, roots: readonly ChartRoot[]): string | null {
  if (!hint || hint.severity === "info") return null;
  const words = hint.evidence.flatMap(({ name }) => name.split(/[^A-Za-z]+/)).map((word) => ALIASES[word] ?? word);
  const shows = (root: ChartRoot) => root.series.some(({ column }) => words.includes(column.split(".").at(-1) ?? ""));
  const names = roots.filter(shows).map((root) => root.name);
  return TELLING.find((name) => names.includes(name)) ?? null;
}
