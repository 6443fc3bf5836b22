import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";

/** The config beside the code, as the handler reads it: `new URL("./sluice.config.json", import.meta.url)`. */
const configFile = "sluice.config.json";

/**
 * One Lambda's code in a directory of its own: `index.mjs` with all that it imports, the SDK too, and the config.
 * The same sources and config give the same bytes, so that a deploy without a change changes nothing.
 */
export function bundleFunction(entry: string, configJson: string, outdir: string): string {
  mkdirSync(outdir, { recursive: true });
  buildSync({
    entryPoints: [entry],
    outfile: join(outdir, "index.mjs"),
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minify: true,
    mainFields: ["module", "main"],
    logLevel: "error",
  });
  writeFileSync(join(outdir, configFile), configJson);
  return outdir;
}
