import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./load.mjs";

const format = await load("dom/format.ts");
const cases = JSON.parse(readFileSync(new URL("../../tests/cases/numbers.json", import.meta.url), "utf8"));

test("numbers are written as Python writes them", () => {
  const shared = cases.filter((one) => one.function in format && !["clock", "when", "iso"].includes(one.function));
  assert.ok(shared.length > 50);
  for (const { function: name, input, text } of shared) assert.equal(format[name](...input), text, `${name}(${input})`);
});

test("an unknown format writes a plain number", () => {
  assert.equal(format.write("nonsense", 12432), "12.4k");
  assert.equal(format.write("duration", 3400), "3.4 s");
  assert.equal(format.write("duration", null), "n/a");
});

test("a time is moved by the reader's offset at that moment, also across a change to summer time", () => {
  process.env.TZ = "Europe/Berlin";
  const [winter, summer] = [Date.UTC(2026, 0, 15, 12), Date.UTC(2026, 6, 15, 12)];
  assert.equal(format.shifted(winter) - winter, 3_600_000);
  assert.equal(format.shifted(summer) - summer, 7_200_000);
  assert.equal(format.shifted(null), null);
});
