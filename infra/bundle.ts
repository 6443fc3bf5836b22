import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";

/** The config beside the code, as the handler reads it: `new URL("./sluice.config.json", import.meta.url)`. */
const configFile = "sluice.config.json";

/**
 * One Lambda's code in a directory of its own: `index.mjs`, all that it imports, the SDK too, and the config. What may
 * never be needed (other ways to credentials, clients of those whom nobody tells) is in chunks that a cold start does not
 * read. The same sources and config give the same bytes, so that a deploy without a change changes nothing.
 */
export function bundleFunction(entry: string, configJson: string, outdir: string): string {
  rmSync(outdir, { recursive: true, force: true }); // chunks are named by their content: old ones would stay
  mkdirSync(outdir, { recursive: true });
  buildSync({
    entryPoints: [{ in: entry, out: "index" }],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
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
