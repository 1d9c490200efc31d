import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { load } from "./load.mjs";

const { Pace } = await load("charts/pace.ts");

let now, timers, frames, again, pace;

/** Lets time pass: timers that are due are called in their order. */
function pass(ms) {
  const end = now + ms;
  for (;;) {
    const due = [...timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
    if (!due) break;
    timers.delete(due[0]);
    now = Math.max(now, due[1].at);
    due[1].call();
  }
  now = end;
}

/** A drawing that takes so long: the page does nothing else until its frame is over. */
function draw(ms) {
  pace.begin();
  now += 17 + ms;
  for (const frame of frames.splice(0)) frame();
  pass(0);
}

beforeEach(() => {
  now = 5000;
  timers = new Map();
  frames = [];
  again = 0;
  globalThis.performance = { now: () => now };
  globalThis.requestAnimationFrame = (call) => frames.push(call);
  globalThis.window = {
    setTimeout: (call, ms) => timers.set(timers.size + now, { at: now + ms, call }) && timers.size + now - 1,
    clearTimeout: (id) => timers.delete(id),
  };
  pace = new Pace(() => (again += 1));
});

test("the first drawing may begin at once", () => {
  assert.equal(pace.isFree(), true);
  assert.equal(timers.size, 0);
});

test("a drawing is followed by a pause of nine times its length, and who waited is called", () => {
  draw(100);
  pass(890);
  assert.equal(pace.isFree(), false);
  assert.equal(pace.isFree(), false);
  assert.equal(timers.size, 1);
  pass(9);
  assert.equal(again, 0);
  pass(1);
  assert.equal(again, 1);
  assert.equal(pace.isFree(), true);
});

test("a quick drawing leaves the charts as live as their updates", () => {
  draw(20);
  pass(181);
  assert.equal(pace.isFree(), true);
});

test("where no frame comes, a second passes", () => {
  pace.begin();
  pass(999);
  assert.equal(pace.isFree(), false);
  pass(1);
  assert.equal(pace.isFree(), true);
});

test("a person who asks need not wait", () => {
  draw(500);
  assert.equal(pace.isFree(), false);
  pace.free();
  assert.equal(pace.isFree(), true);
});

test("a closed one calls nobody", () => {
  draw(100);
  assert.equal(pace.isFree(), false);
  pace.close();
  pass(10_000);
  assert.equal(again, 0);
});
