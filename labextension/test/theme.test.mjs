import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { isDark } = await load("dom/theme.ts");

test("dark is told from the surface's colour; a transparent one tells nothing", () => {
  assert.equal(isDark("rgb(17, 17, 17)"), true);
  assert.equal(isDark("rgb(255, 255, 255)"), false);
  assert.equal(isDark("rgba(255, 255, 255, 0.9)"), false);
  assert.equal(isDark("rgba(0, 0, 0, 0)"), null);
});
