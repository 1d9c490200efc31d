// Loads a TypeScript module of src/ into node: bundled by esbuild, as the build does it.
import { build } from "esbuild";

export async function load(path) {
  const { outputFiles } = await build({
    entryPoints: [new URL(`../src/${path}`, import.meta.url).pathname],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const text = Buffer.from(outputFiles[0].contents).toString("base64");
  return import(`data:text/javascript;base64,${text}`);
}
