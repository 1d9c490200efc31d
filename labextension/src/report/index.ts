// The same dashboard in a report: one file, no kernel, BokehJS already on the page.

import type { Bokeh } from "../charts/bokeh.ts";
import { Dashboard } from "../panels/dashboard.ts";
import type { Snapshot } from "../wire/protocol.ts";
import { Store } from "../wire/store.ts";
import type { Wish } from "../dom/theme.ts";

function mount(): void {
  const data = document.getElementById("streamwatch-data");
  const place = document.getElementById("streamwatch");
  if (!data || !place) return;
  const store = new Store();
  store.load(JSON.parse(data.textContent) as Snapshot);
  const page = globalThis as unknown as { Bokeh?: Bokeh };
  const bokeh = () => {
    return page.Bokeh ? Promise.resolve(page.Bokeh) : Promise.reject(new Error("BokehJS is missing in this file"));
  };
  const theme = () => (document.documentElement.dataset.theme ?? "auto") as Wish;
  new Dashboard({ store, link: null, bokeh, theme }).mount(place);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
else mount();
