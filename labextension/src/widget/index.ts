// The dashboard in a notebook, as an anywidget module. One store a model; each view renders from it.

import { loadBokeh } from "../charts/bokeh.ts";
import { Dashboard } from "../panels/dashboard.ts";
import { Link, type Model } from "../wire/link.ts";
import { Store } from "../wire/store.ts";
import type { Wish } from "../dom/theme.ts";

interface Shared {
  store: Store;
  link: Link;
  /** Views that were taken off the page. Moving an output renders it anew, and Bokeh leaks with each embedding. */
  spare: Dashboard[];
}

/** anywidget gives every hook a proxy of its own, so models are known by the name that the kernel gave them. */
const models = new Map<string, Shared>();

function initialize({ model }: { model: Model }): () => void {
  const key = model.get("key") as string;
  const store = new Store();
  const shared: Shared = { store, link: new Link(model, store), spare: [] };
  models.set(key, shared);
  return () => {
    shared.link.close();
    for (const view of shared.spare.splice(0)) view.close();
    if (models.get(key) === shared) models.delete(key);
  };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const shared = models.get(model.get("key") as string);
  if (!shared) return () => undefined;
  const view = shared.spare.pop() ?? build(model, shared);
  view.mount(el);
  const themed = () => view.followTheme();
  model.on("change:theme", themed);
  return () => {
    model.off("change:theme", themed);
    view.unmount();
    shared.spare.push(view);
  };
}

function build(model: Model, { store, link }: Shared): Dashboard {
  const bokeh = () => {
    return loadBokeh(model.get("bokeh_version") as string, () => model.get("bokehjs") as BufferSource | null);
  };
  return new Dashboard({ store, link, bokeh, theme: () => model.get("theme") as Wish });
}

export default { initialize, render };
