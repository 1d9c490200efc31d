import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { load } from "./load.mjs";

const { Store } = await load("wire/store.ts");
const { Link } = await load("wire/link.ts");

class Model {
  handlers = {};
  sent = [];
  constructor(state) {
    this.state = state;
  }
  get(name) {
    return this.state[name];
  }
  send(content) {
    this.sent.push(content);
  }
  on(name, handler) {
    this.handlers[name] = handler;
  }
  off(name) {
    delete this.handlers[name];
  }
  receive(message) {
    this.handlers["msg:custom"](message);
  }
}

const picture = (n, selected = "a") => ({
  n,
  taken: "t",
  session: { state: "live", text: "" },
  lines: [{ id: "a" }, { id: "b" }],
  selected,
  charts: null,
  data: null,
});

function setup(t) {
  mock.timers.enable({ apis: ["setInterval", "Date"] });
  t.after(() => mock.timers.reset());
  const model = new Model({ snapshot: picture(3) });
  const store = new Store();
  const link = new Link(model, store);
  t.after(() => link.close());
  return { model, store, link };
}

test("the picture in the widget's state needs no answer from the kernel", (t) => {
  const { store, model } = setup(t);
  assert.equal(store.n, 3);
  assert.deepEqual(model.sent, []);
});

test("a lost message is noticed, and the whole picture asked for until it comes", (t) => {
  const { store, model } = setup(t);
  model.receive({ type: "delta", n: 5, taken: "t" });
  model.receive({ type: "delta", n: 6, taken: "t" });
  assert.deepEqual(model.sent, [{ type: "resync" }]);
  mock.timers.tick(4_100);
  assert.equal(model.sent.length, 3);
  model.receive({ type: "snapshot", ...picture(7) });
  mock.timers.tick(10_000);
  assert.equal(model.sent.length, 3);
  assert.equal(store.n, 7);
});

test("a selection is repeated until the kernel shows it", (t) => {
  const { model, link } = setup(t);
  link.select("b");
  mock.timers.tick(2_100);
  assert.deepEqual(model.sent, [
    { type: "select", id: "b" },
    { type: "select", id: "b" },
  ]);
  model.receive({ type: "snapshot", ...picture(4, "b") });
  mock.timers.tick(9_000);
  assert.equal(model.sent.length, 2);
});

test("a visible view renews its lease, a hidden one says so once", (t) => {
  const { model, link } = setup(t);
  link.visible("v", true);
  link.visible("v", true);
  assert.equal(model.sent.length, 1);
  mock.timers.tick(10_100);
  assert.equal(model.sent.length, 2);
  link.leave("v");
  assert.deepEqual(model.sent.at(-1), { type: "visible", view: "v", visible: false, stills: false });
  mock.timers.tick(30_000);
  assert.equal(model.sent.length, 3);
});

test("a kernel that says nothing while somebody looks is quiet, until it speaks again", (t) => {
  const { model, link } = setup(t);
  link.visible("v", true);
  mock.timers.tick(20_000);
  assert.equal(link.connection, "live");
  mock.timers.tick(20_000);
  assert.equal(link.connection, "quiet");
  model.receive({ type: "alive", n: 3 });
  assert.equal(link.connection, "live");
});

test("a closed comm is a state, not an error", (t) => {
  const { model, link } = setup(t);
  let told = 0;
  link.onConnection(() => (told += 1));
  model.handlers["comm_live_update"]();
  assert.equal(link.connection, "gone");
  assert.equal(told, 1);
});

test("a closed comm is a state, not an error", (t) => {
  const { model, link } = setup(t);
  model.send = () => {
    throw new Error("Cannot send");
  };
  link.visible("v", true);
  link.select("other");
  mock.timers.tick(12_000);
  assert.equal(link.connection, "gone");
});
