// Pages without a browser: reads messages as lines of JSON, gives each to the real store of its page and answers with
// what that page knows then. The tests of what the kernel sends are at the other end (tests/pages.py).
import { createInterface } from "node:readline";
import { load } from "./load.mjs";

const { Store } = await load("wire/store.ts");
const stores = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const { page, message } = JSON.parse(line);
  if (!stores.has(page)) stores.set(page, new Store());
  const store = stores.get(page);
  const outcome = store.apply(message);
  const { lines, selected, data } = store;
  console.log(JSON.stringify({ outcome, lines, selected, data }));
}
