/** The recipes that are commands: a nightly file, and three promises, each by the service on this machine. */
import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { serve } from "../cli/service.ts";
import { job, write } from "../local/files.ts";
import { repliesIn, resultOf, startLocally, until } from "../local/process.ts";
import { temporaryFolder } from "../temporary.ts";
import { openKitchen, recipes } from "./document.ts";

const kitchen = openKitchen();
const run = promisify(execFile);

test("a nightly file is sent by its script, and picked up again", { timeout: 120_000 }, async ({ onTestFinished }) => {
  const service = await serve();
  onTestFinished(() => service.close());
  const folder = kitchen.folder(4);
  write(folder, "jobs-2026-11-29.jsonl", [job("2026-11-29/a"), job("2026-11-29/b")]);
  // npx as a reader's own finds the package: here it is the checkout's.
  const bin = temporaryFolder("npx");
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(import.meta.dirname, "../../bin/sluice.js")}" "$@"\n`;
  writeFileSync(join(bin, "npx"), npx);
  chmodSync(join(bin, "npx"), 0o755);
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env["PATH"]}`,
    SLUICE_OUTPUTS: join(service.folder, "local.json"),
  };
  const nightly = () => run("sh", ["nightly.sh", "2026-11-29"], { cwd: folder, env });
  expect((await nightly()).stdout).toContain("2 succeeded");
  expect(repliesIn(join(folder, "replies-2026-11-29.jsonl"))).toHaveLength(2);
  expect((await nightly()).stdout).toContain("answered before");
  expect(repliesIn(join(folder, "replies-2026-11-29.jsonl"))).toHaveLength(2);
  expect(service.bedrockRecord()?.jobs["2026-11-29/a"]).toMatchObject({ calls: 1 });
});

describe("a promise, on a laptop", { timeout: 150_000 }, async () => {
  const folder = kitchen.folder(8);
  await run("sh", ["prepare.sh"], { cwd: folder });
  const commands = [...recipes.matchAll(/^npm start -- (.*)$/gm)].map(([, args = ""]) =>
    args.split(" ").map((arg) => (/\.jsonl?$/.test(arg) ? join(folder, arg) : arg)),
  );
  const [thrice = [], dead = [], slow = []] = commands;

  test("is a command for each of three", () => expect(commands).toHaveLength(3));

  test("one reply, and one request, for a job that is sent three times", async ({ onTestFinished }) => {
    const started = startLocally([...thrice, "--json"], onTestFinished);
    expect(await started.ended).toBe(0);
    expect(resultOf(started)).toMatchObject({ jobs: 1, messages: 3, succeeded: 1, bedrockRequests: 1, leasesLeft: 0 });
  });

  test("a dead target costs no job", async ({ onTestFinished }) => {
    const replies = join(folder, "dead-replies.jsonl");
    const started = startLocally([...dead, "--json", "--replies", replies], onTestFinished);
    expect(await started.ended).toBe(0);
    expect(repliesIn(replies).map(({ ok, meta }) => ({ ok, target: meta.target }))).toEqual(
      Array.from({ length: 3 }, () => ({ ok: true, target: "us-east-1" })),
    );
  });

  test("a worker that dies loses no job", async ({ onTestFinished }) => {
    const replies = join(folder, "slow-replies.jsonl");
    const started = startLocally([...slow, "--json", "--replies", replies], onTestFinished);
    await until(() => started.stderr().includes("waiting"));
    started.kill("SIGUSR2");
    expect(await started.ended).toBe(0);
    expect(started.stderr()).toContain("one worker was killed");
    expect(
      repliesIn(replies)
        .map(({ jobId, ok }) => `${jobId} ${ok}`)
        .toSorted(),
    ).toEqual(["a true", "b true", "c true"]);
    expect(resultOf(started)).toMatchObject({ workers: { died: 1 }, leasesLeft: 0 });
  });
});
