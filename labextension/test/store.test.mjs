import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Store, spans, upsert } = await load("wire/store.ts");

const line = (id, label = "Keeping up") => ({ id, state: { label }, hints: [], note: null });
const rows = (...ids) => ({ runId: ids.map(() => "r"), batchId: ids, numInputRows: ids.map((id) => 10 * id) });
const picture = (n, ...ids) => ({
  n,
  taken: "2026-01-01T00:00:00Z",
  session: { state: "live", text: "" },
  lines: [line("a"), line("b")],
  selected: "a",
  charts: { key: "k" },
  data: { batches: rows(...ids), marks: {} },
});

function loaded(...ids) {
  const store = new Store();
  store.load(picture(5, ...ids));
  return store;
}

test("a delta with the next number adds rows and changes lines", () => {
  const store = loaded(0, 1);
  const delta = { type: "delta", n: 6, taken: "t", rows: rows(2), lines: [line("b", "Stuck")] };
  assert.equal(store.apply(delta), "applied");
  assert.deepEqual(store.data.batches.batchId, [0, 1, 2]);
  assert.equal(store.lines[1].state.label, "Stuck");
});

test("a delta that is in the snapshot already is dropped", () => {
  const store = loaded(0, 1, 2);
  assert.equal(store.apply({ type: "delta", n: 5, taken: "t", rows: rows(2) }), "old");
  assert.deepEqual(store.data.batches.batchId, [0, 1, 2]);
});

test("a missing number is a gap, and changes nothing", () => {
  const store = loaded(0, 1);
  assert.equal(store.apply({ type: "delta", n: 7, taken: "t", rows: rows(3) }), "gap");
  assert.equal(store.apply({ type: "alive", n: 7 }), "gap");
  assert.equal(store.n, 5);
  assert.equal(store.apply({ type: "snapshot", ...picture(8, 0, 1, 2, 3) }), "applied");
  assert.deepEqual(store.data.batches.batchId, [0, 1, 2, 3]);
});

test("a snapshot older than the picture is refused", () => {
  const store = loaded(0, 1);
  store.apply({ type: "delta", n: 6, taken: "t", rows: rows(2) });
  assert.equal(store.load(picture(5, 0, 1)), false);
  assert.equal(store.data.batches.batchId.length, 3);
});

test("a row of a known batch replaces it, and a new column is unknown for the rows before", () => {
  const columns = rows(0, 1);
  upsert(columns, { runId: ["r", "r"], batchId: [1, 2], numInputRows: [11, 20], "tasks.count": [4, 8] });
  assert.deepEqual(columns.batchId, [0, 1, 2]);
  assert.deepEqual(columns.numInputRows, [0, 11, 20]);
  assert.deepEqual(columns["tasks.count"], [null, 4, 8]);
});

test("the same batch id of another run is another row", () => {
  const columns = rows(0, 1);
  upsert(columns, { runId: ["s"], batchId: [1], numInputRows: [7] });
  assert.deepEqual(columns.batchId, [0, 1, 1]);
});

test("marks come whole, and leave the rows as they are", () => {
  const store = loaded(0, 1);
  store.apply({ type: "delta", n: 6, taken: "t", marks: { time: [1], text: ["restart"] } });
  assert.deepEqual(store.data, { batches: rows(0, 1), marks: { time: [1], text: ["restart"] } });
});

test("order can change, lines can vanish, and a line keeps what did not change", () => {
  const store = loaded(0);
  store.apply({ type: "delta", n: 6, taken: "t", order: ["b"] });
  assert.deepEqual(
    store.lines.map((one) => one.id),
    ["b"],
  );
});

test("a change is told with what it touches, so that views repaint only that", () => {
  const store = loaded(0);
  const told = [];
  store.subscribe((change) => told.push(change));
  store.apply({ type: "delta", n: 6, taken: "t", rows: rows(1) });
  assert.deepEqual(told, [{ lines: false, charts: false, data: true, session: false }]);
});

test("a hidden rule is gone from hints and note at once", () => {
  const store = loaded(0);
  store.lines[0].hints = [{ code: "x" }, { code: "y" }];
  store.lines[0].note = { code: "x", text: "" };
  store.hide("x");
  assert.deepEqual(store.lines[0].hints, [{ code: "y" }]);
  assert.equal(store.lines[0].note, null);
});

test("batch ids are written short, and a doubled one shows", () => {
  assert.equal(spans([0, 1, 2, 5, 6, 9]), "0-2,5-6,9");
  assert.equal(spans([0, 1, 1, 2]), "0-1,1-2");
  assert.equal(spans([]), "");
});
