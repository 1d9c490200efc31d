// What the kernel and the page say to each other. Python writes the same shapes in dashboard/messages.py.

/** One value of a column: numbers and texts as Spark sent them, null for unknown. */
export type Cell = number | string | null;
export type Columns = Record<string, Cell[]>;

export type Level = "ok" | "info" | "warning" | "critical" | "muted";

/** One number that a hint rests on; `unit` as in diagnosis/result.py. */
export interface Evidence {
  name: string;
  value: number | string;
  unit: string;
  batches: number[];
}

export interface Hint {
  code: string;
  severity: "info" | "warning" | "critical";
  title: string;
  evidence: Evidence[];
  cause: string;
  fix: string;
  code_fix: string | null;
  effect: { text: string } | null;
  under: string | null;
  link: string;
}

/** The checkpoint of one query, in words: summary/checkpoint.py makes it. */
export interface Checkpoint {
  /** What a restart does, in a few words for the fold. */
  summary: string;
  restart: string[];
  rows: [string, string, string | null][];
  /** Setting, its value in the checkpoint, which holds, and in the session; a tip. */
  pinned: [string, string, string, string | null][];
  code: string | null;
}

/** The overview of one query, in words: summary/line.py makes it, every view shows it. */
export interface Line {
  id: string;
  name: string;
  fullName: string;
  state: { verdict: string; label: string; level: Level; shape: string; reason?: string | null };
  ended: boolean;
  rates: { input: string; processed: string; tip?: string | null; spark: (number | null)[] };
  batch: {
    id: string;
    duration: string;
    of: string | null;
    /** What stands after the duration: " of 2 s" for an interval, ", usually 2 s" without one. */
    against: string | null;
    basis: "interval" | "usual" | null;
    ratio: number | null;
    tip?: string | null;
  };
  watermark: { text: string; tip?: string | null };
  backlog: { text: string; trend: "grows" | "shrinks" | "steady" | null; tip?: string | null };
  note: { text: string; level: Level; code: string | null; at?: number | null } | null;
  details?: string | null;
  running: { text: string; fraction: number | null } | null;
  facts: [string, string, string | null][];
  checkpoint: Checkpoint | null;
  hints: Hint[];
}

export interface Series {
  label: string;
  column: string;
  color: string;
  format: string;
  /** How it is drawn, so that the legend shows the same. */
  shape: "square" | "line" | "hatch" | "hollow" | "triangle" | "dash" | "none";
}

export interface ChartRoot {
  name: string;
  title: string;
  unit: string;
  question: string;
  root_id: string;
  height: number;
  series: Series[];
}

/** One Bokeh document with one root a chart; its sources are empty, `data` fills them. */
export interface Charts {
  key: string;
  docs_json: Record<string, unknown>;
  docid: string;
  roots: ChartRoot[];
  timeColumns: Record<string, string[]>;
}

export interface Data {
  batches: Columns;
  marks: Columns;
}

export interface Session {
  state: "live" | "stopped" | "gone";
  text: string;
}

export interface Snapshot {
  n: number;
  taken: string;
  session: Session;
  lines: Line[];
  selected: string | null;
  charts: Charts | null;
  data: Data | null;
  /** A report has no kernel to ask: it carries the charts of every query. */
  views?: Record<string, { charts: Charts | null; data: Data | null }>;
}

export interface Delta {
  type: "delta";
  n: number;
  taken: string;
  session?: Session;
  /** Lines that changed, whole. */
  lines?: Line[];
  /** Ids of all lines in order, when it changed. */
  order?: string[];
  /** Rows that are new or changed: a row replaces the one of the same run and batch. */
  rows?: Columns;
  /** All marks, when they changed. */
  marks?: Columns;
  /** All rows and marks again, cut anew. */
  data?: Data;
}

export type Message = Delta | (Snapshot & { type: "snapshot" }) | { type: "alive"; n: number };

export type Request =
  | { type: "select"; id: string }
  | { type: "resync" }
  | { type: "visible"; view: string; visible: boolean; stills: boolean }
  | { type: "hide"; code: string };
