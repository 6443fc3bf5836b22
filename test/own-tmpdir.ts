/** A run of the tests has a TMPDIR of its own, and fails if anything of ours is left in it. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** For Vitest, before the first worker starts; it comes once for each project, and once is enough. */
export default function setUp(): (() => void) | undefined {
  if (process.env["SLUICE_TESTS"] !== undefined) return undefined;
  const own = mkdtempSync(join(tmpdir(), "sluice-tests-"));
  process.env["SLUICE_TESTS"] = process.env["TMPDIR"] = own;
  return () => {
    const left = readdirSync(own).filter((name) => name.startsWith("sluice-"));
    rmSync(own, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`the tests left in the temporary folder: ${left.join(", ")}`);
  };
}
