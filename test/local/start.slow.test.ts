/** Runs that end badly, each a whole service: too many processes for the fast suite. */
import { readdirSync } from "node:fs";
import { describe, test } from "vitest";

import { objectBytesMax } from "../../lib/core/limits.ts";
import { job, write } from "./files.ts";
import { temporaryFolder } from "../temporary.ts";
import { familyOf, isAlive, startLocally, until } from "./process.ts";

const linux = process.platform === "linux";

const folder = temporaryFolder("files");
const file = (name: string, lines: readonly unknown[]) => write(folder, name, lines);

describe("npm start", { timeout: 60_000 }, () => {
  test("waits for no job that could not be sent, and names it", async ({ expect, onTestFinished }) => {
    // What is too big for a message goes to S3, but for this, which no worker reads.
    const params = { messages: [{ role: "user", content: [{ text: "x".repeat(objectBytesMax) }] }] };
    const jobs = file("big.jsonl", [job("small"), job("big", { params }), job("bigger", { params })]);
    const started = startLocally([jobs], onTestFinished);
    expect(await started.ended).toBe(1);
    expect(started.stderr().match(/was not sent/g)).toHaveLength(1);
    expect(started.stdout()).toContain("1 succeeded, 2 not sent\n");
    expect(started.stdout()).toMatch(/^ {2}bigger {2}not sent {4}/m);
  });

  test.runIf(linux).for(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
    "takes its engines and workers with it on %s",
    async (signal, { expect, onTestFinished }) => {
      const args = [file(`${signal}.jsonl`, [job("slow")]), "--script", file("slow.json", ['{"latency": 60000}'])];
      const temporary = temporaryFolder(signal);
      const started = startLocally(args, onTestFinished, { ...process.env, TMPDIR: temporary });
      await until(() => started.stderr().includes("slow waiting") || started.stderr().includes("0 of 1 answered"));
      const family = familyOf(started.pid);
      expect(family.length).toBeGreaterThan(3);
      started.kill(signal);
      expect(await started.ended).toBe({ SIGINT: 130, SIGTERM: 143, SIGKILL: null }[signal]);
      await until(() => !family.some((pid) => isAlive(pid)));
      if (signal === "SIGKILL") return;
      expect(readdirSync(temporary)).toEqual([]);
      expect(started.stdout()).toContain("; interrupted: 1 unanswered, 0 succeeded\n");
      expect(started.stdout()).not.toMatch(/NOT returned|hidden/);
      expect(started.stderr()).not.toContain("EnvironmentDied");
    },
  );
});
