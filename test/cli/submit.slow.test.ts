import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { job, write } from "../local/files.ts";
import { entry, serve } from "./service.ts";
import type { Served } from "./service.ts";

let service: Served;

beforeAll(async () => {
  service = await serve({
    latency: 1,
    rules: [{ when: { jobId: "slow-*" }, do: { kind: "answer" }, latency: 20_000 }],
  });
}, 120_000);
afterAll(() => service.close());

function linesOf(file: string): readonly { readonly jobId: string; readonly ok: boolean }[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line): { jobId: string; ok: boolean } => JSON.parse(line));
}

describe("npx sluice submit --wait", { timeout: 1_500_000 }, () => {
  test("hears ten thousand jobs with progress and the right totals, in less than 300 MB", async () => {
    const count = 10_000;
    const file = join(service.folder, "many.jsonl");
    const jobs = Array.from({ length: count }, (_, index) => JSON.stringify(job(`many-${index}`, { lane: "bulk" })));
    writeFileSync(file, jobs.join("\n"));
    const replies = join(service.folder, "many-replies.jsonl");
    const ended = await service.sluice("submit", file, "--replies", replies, "--json");
    expect(ended.code).toBe(0);
    const said: Record<string, number> = JSON.parse(ended.stdout);
    expect(said).toMatchObject({ jobs: count, sent: count, succeeded: count, open: 0, notSent: 0, interrupted: false });
    expect(said["rssMbMax"]).toBeLessThan(300);
    expect(new Set(linesOf(replies).map(({ jobId }) => jobId)).size).toBe(count);
    expect(linesOf(replies)).toHaveLength(count);

    const done = [...ended.stderr.matchAll(/([\d,]+) of [\d,]+ done/g)].map(([, text = ""]) =>
      Number(text.replaceAll(",", "")),
    );
    expect(done.length).toBeGreaterThan(3);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
  });

  test("tells once of a model that the config does not have, before anybody waits for its jobs", async () => {
    const typos = [job("typo-1", { model: "fast-txt" }), job("typo-2", { model: "fast-txt" })];
    const file = write(service.folder, "typos.jsonl", typos);
    const { stderr } = await service.sluice("submit", file);
    expect(stderr).toContain(
      `${file}:1: model: "fast-txt" is not in the config (known: fast-text, smart-text); it waits`,
    );
    expect(stderr).not.toContain(`${file}:2`);
    expect((await service.sluice("cancel", "typo-1", "typo-2")).code).toBe(0);
  });

  test("ended by Ctrl-C it says how to pick up again, and the same command does", async () => {
    const slow = Array.from({ length: 4 }, (_, index) => job(`slow-${index}`, { lane: "bulk" }));
    const file = write(service.folder, "again.jsonl", [job("quick"), ...slow]);
    const child = spawn(
      process.execPath,
      [entry, "submit", file, "--wait", "--outputs", join(service.folder, "local.json")],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
      if (err.includes("1 of 5 done")) child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => void child.once("close", resolve));
    expect(code).toBe(130);
    expect(out).toContain(`Stopped. The same command picks up again: npx sluice submit ${file} --wait --outputs `);

    const ended = await service.sluice("submit", file, "--wait", "--json");
    expect(ended.code).toBe(0);
    const said: Record<string, number> = JSON.parse(ended.stdout);
    expect(said).toMatchObject({ jobs: 5, succeeded: 5, open: 0 });
    expect(said["answeredBefore"]).toBeGreaterThan(0);
    expect(service.bedrockRecord()?.jobs["quick"]).toMatchObject({ calls: 1 });
  });
});
