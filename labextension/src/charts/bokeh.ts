// BokehJS: taken from the installed bokeh package through the widget's own state, evaluated once a page.

/** A range of an axis. `have_updated_interactively` is Bokeh's own note that a person moved it. */
export interface BokehRange {
  start: number;
  end: number;
  have_updated_interactively: boolean;
  change: { connect(callback: () => void): void; emit(): void };
  reset?: () => void;
}

export interface BokehSource {
  data: Record<string, unknown>;
}

export interface BokehView {
  model: {
    id: string;
    x_range: BokehRange;
    y_range: BokehRange;
    below: { visible: boolean; ticker: { desired_num_ticks: number } }[];
    height: number;
    min_border_bottom: number;
    toolbar?: { tools: { type: string; active?: boolean; visible?: boolean }[] };
  };
  frame?: { bbox: { left: number; top: number; width: number; height: number }; x_scale: BokehScale };
  request_paint?: () => void;
  update_dataranges?: () => void;
}

interface BokehScale {
  compute(x: number): number;
  invert(pixel: number): number;
}

export interface BokehDocument {
  roots(): { id: string }[];
  get_model_by_name(name: string): unknown;
}

export interface BokehViews {
  get_by_id(id: string): BokehView | null;
  clear(): void;
}

export interface Bokeh {
  version: string;
  require(module: "document"): { Document: { from_json(json: unknown): BokehDocument } };
  embed: {
    add_document_standalone(document: BokehDocument, element: HTMLElement, roots: HTMLElement[]): Promise<BokehViews>;
  };
}

const SHELF = Symbol.for("jupyter-streamwatch.bokeh");

type Shelf = Map<string, Promise<Bokeh>>;

/** BokehJS of one version, shared by every dashboard of the page that carries the same version. */
export function loadBokeh(version: string, gzipped: () => BufferSource | null): Promise<Bokeh> {
  const page = globalThis as unknown as Record<symbol, Shelf | undefined>;
  const shelf = (page[SHELF] ??= new Map<string, Promise<Bokeh>>());
  const known = shelf.get(version);
  if (known) return known;
  const loading = evaluate(gzipped);
  shelf.set(version, loading);
  loading.catch(() => {
    shelf.delete(version); // the next dashboard may carry it whole
  });
  return loading;
}

async function evaluate(gzipped: () => BufferSource | null): Promise<Bokeh> {
  const bytes = gzipped();
  if (!bytes) throw new Error("BokehJS did not arrive with the dashboard");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  // A module of its own keeps it from the page's globals: another Bokeh there stays what it is.
  const parts = ["const page = {};\n(function () {\n", text, "\n}).call(page);\nexport default page.Bokeh;\n"];
  const url = URL.createObjectURL(new Blob(parts, { type: "text/javascript" }));
  try {
    const { default: bokeh } = (await import(url)) as { default: Bokeh };
    return bokeh;
  } finally {
    URL.revokeObjectURL(url);
  }
}
