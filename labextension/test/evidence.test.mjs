import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { explaining } = await load("panels/evidence.ts");

const root = (name, ...columns) => ({ name, series: columns.map((column) => ({ column })) });
const ROOTS = [
  root("rows-per-second", "inputRowsPerSecond"),
  root("rows-per-batch", "numInputRows"),
  root("batch-time", "batchDuration", "part.addBatch", "part.walCommit"),
  root("state-rows", "state.numRowsTotal"),
  root("event-time", "lag.max", "lag.watermark"),
];
const hint = (severity, ...names) => ({ severity, evidence: names.map((name) => ({ name })) });

test("the chart that says most about a hint explains it", () => {
  assert.equal(explaining(hint("critical", "triggerExecution", "trigger interval"), ROOTS), "batch-time");
  assert.equal(explaining(hint("warning", "numShufflePartitions", "numInputRows", "addBatch"), ROOTS), "batch-time");
  assert.equal(explaining(hint("warning", "walCommit + commitOffsets"), ROOTS), "batch-time");
  assert.equal(explaining(hint("warning", "eventTime.watermark", "numRowsTotal"), ROOTS), "event-time");
  assert.equal(explaining(hint("warning", "times computed", "numInputRows"), ROOTS), "rows-per-batch");
});

test("what no chart shows, and what is merely good to know, moves none", () => {
  assert.equal(explaining(hint("warning", "errorClass"), ROOTS), null);
  assert.equal(explaining(hint("info", "addBatch"), ROOTS), null);
  assert.equal(explaining(undefined, ROOTS), null);
});
