import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

import { bedrockUsdMax, help, jobsMax, readCommandLine } from "./command-line.ts";
import { trials } from "./smoke.ts";

const wants = (...args: readonly string[]) => {
  const asked = readCommandLine(args);
  return asked.kind === "run" ? trials.map(({ name }) => name).filter(asked.isWanted) : asked.kind;
};
const all = trials.map(({ name }) => name);

describe("npm run test:aws", () => {
  test("tries everything, one thing, or all but one", () => {
    expect(wants()).toEqual(all);
    expect(wants("--only", "api", "--only", "twelve-hours")).toEqual(["api", "twelve-hours"]);
    expect(wants("--without", "count-tokens")).toEqual(all.filter((name) => name !== "count-tokens"));
  });

  test("cleans, and helps", () => expect([wants("--clean"), wants("-h")]).toEqual(["clean", "help"]));

  test.each([["--only", "apj"], ["--cleen"], ["everything"]])("refuses %s %s", (...args) =>
    expect(wants(...args)).toBe("wrong"),
  );

  test("names each thing that it tries once, and tells of it", () => {
    expect(new Set(all).size).toBe(all.length);
    for (const { name, says } of trials)
      expect(help).toMatch(new RegExp(`^  ${name} +${says.replaceAll(/[()+.]/g, ".")}$`, "m"));
  });

  test("asks Bedrock for less than a cent", () => {
    expect(bedrockUsdMax).toBeLessThan(0.01);
    expect(help).toContain(`at most ${jobsMax} requests of 20 tokens and 16 of answer, less than 0.01 USD of Bedrock`);
  });

  test("is off unless an account is named: it says so in a sentence, and that is no failure", async () => {
    const { SLUICE_TEST_ACCOUNT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "run.ts")], { env });
    expect(stdout).toMatch(/^The test on a real AWS account is off; [^.\n]*SLUICE_TEST_ACCOUNT[^.\n]*\.\n$/);
  });
});
