import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import typescript from "typescript";

const root = new URL("../src", import.meta.url).pathname;
const files = readdirSync(root, { recursive: true }).filter((path) => path.endsWith(".ts"));

/** What a file of src/ imports, types too. */
function imports(path) {
  const { importedFiles } = typescript.preProcessFile(readFileSync(join(root, path), "utf8"));
  return importedFiles.map(({ fileName }) => join(dirname(path), fileName));
}

/** The first way from a file back to itself; null when there is none. */
function cycle(path, way = [], done = new Set()) {
  if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
  if (done.has(path)) return null;
  for (const imported of imports(path)) {
    const back = cycle(imported, [...way, path], done);
    if (back) return back;
  }
  done.add(path);
  return null;
}

test("no module imports itself by a way around", () => {
  assert.ok(files.length > 15);
  const done = new Set();
  for (const path of files) assert.equal(cycle(path, [], done)?.join(" -> ") ?? null, null);
});
