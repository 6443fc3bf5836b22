/** The completion for zsh, in zsh: `.ci/run` installs it; a machine without it has nobody to complete for. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";

const hasZsh = spawnSync("zsh", ["--version"]).status === 0;

/** What zsh is told may stand where the cursor is, behind these words. */
async function offered(...typed: readonly string[]): Promise<readonly string[]> {
  const folder = temporaryFolder("zsh");
  writeFileSync(join(folder, "_sluice"), (await run(["completion", "zsh"])).stdout);
  const program = `
    fpath=("$1" $fpath); autoload -Uz _sluice
    compadd() { print -l -- \${(P)2}; }
    _files() { print files; }
    words=("\${@[2,-1]}"); CURRENT=$#words; _sluice`;
  return execFileSync("zsh", ["-f", "-c", program, "zsh", folder, ...typed], { encoding: "utf8" })
    .trim()
    .split("\n");
}

test.skipIf(!hasZsh).each([
  [
    ["sluice", ""],
    ["submit", "parked", "doctor", "--stack", "--help"],
  ],
  [
    ["sluice", "parked", ""],
    ["list", "show", "rerun", "delete", "--json"],
  ],
  [
    ["sluice", "--stack", "Mine", "parked", "rerun", "--r"],
    ["--reason", "--rate", "--dry-run", "--yes"],
  ],
  [
    ["sluice", "submit", "jobs.jsonl", "--"],
    ["--lane", "--wait", "--replies"],
  ],
])("behind %j zsh offers %j, among others", async (typed, words) => {
  const all = await offered(...typed);
  expect(all).toEqual(expect.arrayContaining(words));
  expect(all).not.toContain("files");
});

test.skipIf(!hasZsh)("zsh offers nothing of one command behind another", async () => {
  expect(await offered("sluice", "submit", "")).not.toContain("--rate");
  expect(await offered("sluice", "submit", "")).not.toContain("list");
});
