/** The recipes that are commands: a nightly file, and three promises, each by the service on this machine. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve } from "../cli/service.ts";
import type { Served } from "../cli/service.ts";
import { createBucket, localClient } from "../contract/engines.ts";
import { job, write } from "../local/files.ts";
import { repliesIn, resultOf, startLocally, until } from "../local/process.ts";
import { temporaryFolder } from "../temporary.ts";
import { openKitchen, recipes } from "./document.ts";

const kitchen = openKitchen();
const run = promisify(execFile);

/** What a running service tells of itself. */
interface Told {
  readonly outputs: Readonly<Record<string, string>>;
  readonly endpoints: Readonly<Record<string, string>>;
}

describe("a service on this machine", { timeout: 240_000 }, () => {
  let service: Served;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    const slow = { when: { jobId: "2026-11-29/slow" }, do: { kind: "answer" as const }, latency: 10_000 };
    service = await serve({ rules: [slow] });
    const toldIn = join(service.folder, "local.json");
    const { outputs, endpoints }: Told = JSON.parse(readFileSync(toldIn, "utf8"));
    // npx as a reader's own finds the package: here it is the checkout's.
    const bin = temporaryFolder("npx");
    const sluice = join(import.meta.dirname, "../../bin/sluice.js");
    writeFileSync(join(bin, "npx"), `#!/bin/sh\nshift\nexec "${process.execPath}" "${sluice}" "$@"\n`, { mode: 0o755 });
    env = {
      ...process.env,
      ...endpoints,
      PATH: `${bin}${delimiter}${process.env["PATH"]}`,
      SLUICE_OUTPUTS: toldIn,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      RT_QUEUE_URL: outputs["rtQueueUrl"],
      BG_QUEUE_URL: outputs["bgQueueUrl"],
      BULK_QUEUE_URL: outputs["bulkQueueUrl"],
      JOB_TABLE: outputs["jobTableName"],
    };
  }, 60_000);
  afterAll(() => service.close());

  test("has a nightly file sent by its script, which is picked up again after Ctrl-C, and asks nothing twice", async () => {
    const folder = kitchen.folder(4);
    const replies = join(folder, "replies-2026-11-29.jsonl");
    write(folder, "jobs-2026-11-29.jsonl", [job("2026-11-29/quick"), job("2026-11-29/slow")]);
    const nightly = () => spawn("sh", ["nightly.sh", "2026-11-29"], { cwd: folder, env, detached: true });

    const first = nightly();
    const ended = once(first, "close");
    await until(() => service.bedrockRecord()?.jobs["2026-11-29/slow"] !== undefined);
    process.kill(-(first.pid ?? 0), "SIGINT"); // as a terminal does it: to all of the command
    await ended;
    expect(repliesIn(replies).map(({ jobId }) => jobId)).not.toContain("2026-11-29/slow");

    const again = nightly();
    expect(await once(again, "close")).toEqual([0, null]);
    expect(
      repliesIn(replies)
        .map(({ jobId, ok }) => `${jobId} ${ok}`)
        .toSorted(),
    ).toEqual(["2026-11-29/quick true", "2026-11-29/slow true"]);
    for (const name of ["quick", "slow"])
      expect(service.bedrockRecord()?.jobs[`2026-11-29/${name}`]).toMatchObject({ calls: 1 });
  });

  test("has the objects of a prefix summarised by a command", async () => {
    const s3 = new S3Client({ ...localClient(env["AWS_ENDPOINT_URL_S3"] ?? ""), forcePathStyle: true });
    const Bucket = await createBucket(env["AWS_ENDPOINT_URL_S3"] ?? "");
    for (const Key of ["docs/a.txt", "docs/b.txt"]) await s3.send(new PutObjectCommand({ Bucket, Key, Body: "Once." }));
    const { stdout } = await run(process.execPath, [join(kitchen.folder(1), "run.ts"), Bucket, "docs/"], { env });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line): object => JSON.parse(line));
    expect(lines).toEqual([
      { key: "docs/a.txt", summary: expect.stringMatching(/./) },
      { key: "docs/b.txt", summary: expect.stringMatching(/./) },
    ]);
  });
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
