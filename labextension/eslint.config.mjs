import js from "@eslint/js";
import ts from "typescript-eslint";

/** The rooms of src/, lowest first: each imports from itself and from those below it. */
const ROOMS = ["wire", "dom", "charts", "panels"];

/** Lets files import from their own folder and from these rooms, and from nowhere else. */
function importsFrom(files, rooms) {
  const message = `Only from this folder${rooms.length ? ` and from ${rooms.join(", ")}` : ""}.`;
  const allowed = ["\\.", ...rooms.map((room) => `\\.\\./${room}`)];
  const regex = `^(?!(?:${allowed.join("|")})/)`;
  return { files, rules: { "no-restricted-imports": ["error", { patterns: [{ regex, message }] }] } };
}

export default ts.config(
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...ts.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  importsFrom(["src/**"], ROOMS), // an entry each: widget, report
  ...ROOMS.map((room, at) => importsFrom([`src/${room}/**`], ROOMS.slice(0, at))),
  { files: ["src/wire/**"], rules: { "no-restricted-globals": ["error", "document", "window"] } }, // it runs in node, too
);
