// Bundles the two entry points into the Python package. Built files are never committed.
import { build } from "esbuild";

const common = { bundle: true, minify: true, target: "es2022", logLevel: "info" };
const out = "../jupyter_streamwatch/static";

await build({ ...common, entryPoints: ["src/widget/index.ts"], format: "esm", outfile: `${out}/widget.js` });
await build({ ...common, entryPoints: ["src/report/index.ts"], format: "iife", outfile: `${out}/report.js` });
await build({ ...common, entryPoints: ["style/index.css"], outfile: `${out}/widget.css` });
