/** lib/RECIPES.md, cooked: its files are written as a reader would, and run. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startBedrock } from "../../infra/local/bedrock/server.ts";
import { dynoxideBinary, startDynalite, startDynoxide, startFauxqs } from "../../infra/local/engines.ts";
import type { Client, JobOf, ReplyOf } from "../../lib/client/index.ts";
import { prepare } from "../../lib/client/message.ts";
import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import { failuresMax, firstOpenMs } from "../../lib/core/breaker.ts";
import { targetsOf } from "../../lib/core/config.ts";
import { laneLimits, replyTtlDaysDefault } from "../../lib/core/limits.ts";
import { noMeta } from "../../lib/core/reply.ts";
import { createTestClient, ModelError } from "../../lib/testing/index.ts";
import type { TestAnswer } from "../../lib/testing/index.ts";
import { createBucket, createLeaseTable, localClient } from "../contract/engines.ts";
import { openKitchen, recipes } from "./document.ts";

const kitchen = openKitchen();

interface Asking {
  readonly caller: string;
  readonly requestId: string;
}

interface Answer {
  readonly status: number;
  readonly headers?: object;
  readonly body: object;
}

test("every file of a recipe has the types that it says", async () => {
  const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc");
  const run = promisify(execFile)(tsc, ["--project", kitchen.root], { cwd: kitchen.root });
  expect(await run.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: "" });
}, 120_000);

test("every block of TypeScript is such a file", () =>
  expect(kitchen.files.filter((file) => file.endsWith(".ts"))).toHaveLength(recipes.match(/^```ts$/gm)?.length ?? 0));

describe("the recipes' numbers are the code's", () => {
  const hours = (ms: number) => ms / 3_600_000;
  test.each<[says: string, is: number, of: number]>([
    ["Replies go after `replies.ttlDays` (7 days)", replyTtlDaysDefault, 7],
    ["for as long as the reply is kept (`replies.ttlDays`, 7 days)", replyTtlDaysDefault, 7],
    ["a bulk job has a day", hours(laneLimits.bulk.deadlineMsDefault), 24],
    ["give `deadlineAt` (36 hours at most)", hours(laneLimits.bulk.deadlineMsMax), 36],
    ["A job of bulk lives for a day", hours(laneLimits.bulk.deadlineMsDefault), 24],
    ["From the fifth failure on", failuresMax, 5],
    ["a probe through after half a minute", firstOpenMs, 30_000],
  ])("%s", (says, is, of) => {
    expect(recipes.replaceAll(/\s+/g, " ")).toContain(says);
    expect(is).toBe(of);
  });
});

test("what is over 900 KB wants a bucket", () => {
  const job = (bytes: number) => ({
    ...aJob("a"),
    params: { messages: [{ role: "user", content: [{ text: "x".repeat(bytes) }] }] },
  });
  expect(recipes).toContain("an object is over 900 KB");
  expect(prepare(job(899_000), undefined)).toMatchObject({ kind: "ready" });
  expect(prepare(job(900_000), undefined)).toMatchObject({ kind: "refused" });
  expect(prepare(job(900_000), "bucket")).toMatchObject({ kind: "ready", upload: { bucket: "bucket" } });
});

describe("an S3 prefix", async () => {
  const engine = await startFauxqs();
  afterAll(engine.stop);
  const s3 = new S3Client({ ...localClient(engine.endpoint), forcePathStyle: true });
  const put = (Bucket: string, Key: string, Body: string) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: Buffer.byteLength(Body) }));
  const recipe = await kitchen.load<{
    submitPrefix(sluice: Client, s3: S3Client, bucket: string, prefix: string): Promise<string[]>;
    collect(sluice: Client, s3: S3Client, jobIds: readonly string[]): AsyncIterable<object>;
    textOf(s3: S3Client, reply: ReplyOf<"converse">): Promise<string>;
  }>(1, "summarise-prefix.ts");

  test("has a summary of each object, and asks again only for what has changed", async () => {
    const bucket = await createBucket(engine.endpoint);
    for (const [key, text] of Object.entries({ "docs/": "", "docs/a b.txt": "Aa", "docs/ü.txt": "Uu", "x.txt": "Xx" }))
      await put(bucket, key, text);
    const sluice = createTestClient({ answer: ({ params }) => `About ${JSON.stringify(params["messages"])}` });
    const run = async () => {
      const jobIds = await recipe.submitPrefix(sluice, s3, bucket, "docs/");
      const collected: object[] = [];
      for await (const one of recipe.collect(sluice, s3, jobIds)) collected.push(one);
      return collected;
    };

    const about = (text: string) => `About [{"role":"user","content":[{"text":"${text}"}]}]`;
    expect(await run()).toEqual([
      { key: "docs/a b.txt", summary: about("Aa") },
      { key: "docs/ü.txt", summary: about("Uu") },
    ]);
    await put(bucket, "docs/ü.txt", "Uv");
    expect(await run()).toEqual([
      { key: "docs/a b.txt", summary: about("Aa") },
      { key: "docs/ü.txt", summary: about("Uv") },
    ]);
    expect(sluice.asked).toHaveLength(3);
    expect(sluice.submitted.map(({ lane }) => lane)).toEqual(["bulk", "bulk", "bulk"]);
  });

  test("reads an output where it lies", async () => {
    const bucket = await createBucket(engine.endpoint);
    const output = { output: { message: { role: "assistant", content: [{ text: "A long " }, { text: "one." }] } } };
    await put(bucket, "outputs/a%2Fb/0.json", JSON.stringify(output));
    const outputRef = `s3://${bucket}/outputs/a%2Fb/0.json`;
    const reply = { jobId: "a/b", ok: true, status: "succeeded", outputRef, meta: noMeta, metadata: {} } as const;
    expect(await recipe.textOf(s3, reply)).toBe("A long one.");
  });

  test.each([
    ["is read by the worker where the config allows its bucket", ["requests"], "params_missing"],
    ["is refused where it does not", [], "invalid_envelope"],
  ])("that holds requests %s", async (_says, buckets, code) => {
    const { jobOfRequest } = await kitchen.load<{
      readonly jobOfRequest: (bucket: string, key: string, etag: string) => JobOf<"converse">;
    }>(1, "request-object.ts");
    const sluice = createTestClient({ answer: () => "", config: { models: models(), paramsRef: { buckets } } });
    const jobId = await sluice.submit(jobOfRequest("requests", "ready/a.json", '"e"'));
    expect(await sluice.waitForReply(jobId)).toMatchObject({ reply: { ok: false, error: { code } } });
  });
});

describe("an API with ten seconds", async () => {
  const { ask, idOf, later } = await kitchen.load<{
    readonly ask: (sluice: Client, asking: Asking, text: string) => Promise<Answer>;
    readonly idOf: (asking: Asking) => string;
    readonly later: (sluice: Client, asking: Asking) => Promise<Answer>;
  }>(3, "ask.ts");

  const ada = { caller: "ada", requestId: "r 1" };

  test.each<[says: string, answer: () => TestAnswer, latencyMs: number, now: Answer["status"], then: Answer]>([
    ["answers in the response", () => "Hello.", 3_000, 200, { status: 200, body: { text: "Hello." } }],
    [
      "names the place of an answer that comes later",
      () => "Hello.",
      30_000,
      202,
      { status: 200, body: { text: "Hello." } },
    ],
    [
      "says that another try may go better",
      () => new ModelError("ThrottlingException", { status: 429 }),
      100,
      202,
      { status: 503, headers: { "retry-after": expect.stringMatching(/^\d+$/) }, body: { error: "no_capacity" } },
    ],
    [
      "says that another try will not",
      () => new ModelError("ValidationException", { status: 400 }),
      100,
      502,
      { status: 502, body: { error: "provider_error" } },
    ],
    [
      "gives a job up that nobody waits for any more",
      () => "Hello.",
      70_000,
      202,
      { status: 504, body: { error: "attempt_timeout" } },
    ],
  ])("%s", async (_says, answer, latencyMs, now, then) => {
    const sluice = createTestClient({ answer, latencyMs });
    expect(await ask(sluice, ada, "Say hello to Ada.")).toMatchObject({ status: now });
    await sluice.run();
    expect(await later(sluice, ada)).toEqual(then);
  });

  test("asks no model twice for a caller who tries twice", async () => {
    const sluice = createTestClient({ answer: () => "Hello.", latencyMs: 15_000 });
    expect(await ask(sluice, ada, "Say hello to Ada.")).toMatchObject({
      status: 202,
      headers: { location: "/answers/r%201" },
    });
    expect(await ask(sluice, ada, "Say hello to Ada.")).toMatchObject({ status: 200 });
    await sluice.run();
    expect(sluice.asked).toHaveLength(1);
    expect(sluice.parked).toEqual([]);
  });

  test("gives nobody another caller's answer", async () => {
    const sluice = createTestClient({ answer: () => "Hello." });
    await ask(sluice, ada, "Say hello to Ada.");
    expect(await later(sluice, { ...ada, caller: "eve" })).toMatchObject({ status: 202 });
  });

  test("calls without a queue, and gives up when the time is over", async () => {
    const dynamo = await (dynoxideBinary() === undefined ? startDynalite() : startDynoxide());
    const rules = [
      { when: { jobId: idOf({ ...ada, requestId: "slow" }) }, do: { kind: "answer" as const }, latency: 60_000 },
    ];
    const bedrock = await startBedrock({ script: { rules } });
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await Promise.all([dynamo.stop(), bedrock.close()]);
    });
    const env = {
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.endpoint,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      LEASE_TABLE: await createLeaseTable(dynamo.endpoint),
    };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { askNow } = await kitchen.load<{
      readonly askNow: (asking: Asking, text: string, patienceMs?: number) => Promise<Answer>;
    }>(3, "ask-now.ts");
    expect(await askNow(ada, "Say hello to Ada.")).toEqual({ status: 200, body: { text: expect.any(String) } });
    expect(await askNow({ ...ada, requestId: "slow" }, "Say hello to Ada.", 1_000)).toEqual({
      status: 504,
      body: { error: "deadline_exceeded" },
    });
  });
});

describe("a nightly file", async () => {
  const { submitFile } = await kitchen.load<{
    readonly submitFile: (sluice: Client, s3: S3Client, bucket: string, key: string) => Promise<object>;
  }>(4, "nightly.ts");

  test("has each of its jobs run once, however often it is sent, and its bad lines told", async () => {
    const engine = await startFauxqs();
    onTestFinished(engine.stop);
    const s3 = new S3Client({ ...localClient(engine.endpoint), forcePathStyle: true });
    const bucket = await createBucket(engine.endpoint);
    const jobs = Array.from({ length: 600 }, (_, n) => JSON.stringify(aJob(`2026-11-29/${n}`)));
    const Body = [...jobs, "no job", JSON.stringify({ ...aJob("urgent"), lane: "rt" })].join("\n");
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "2026-11-29.jsonl", Body }));
    const sluice = createTestClient({ answer: () => "A summary.", config: { models: models() } });

    const run = () => submitFile(sluice, s3, bucket, "2026-11-29.jsonl");
    const faults = ["2026-11-29.jsonl:601: line is not JSON; a line is one whole job"];
    expect(await run()).toEqual({ sent: 601, answered: 0, faults });
    await sluice.run();
    expect(await run()).toEqual({ sent: 0, answered: 601, faults });
    expect(sluice.asked).toHaveLength(601);
    expect(sluice.submitted.filter(({ lane }) => lane === "bulk")).toHaveLength(600);
  });

  test("has few of its jobs in memory where they are long", async () => {
    const engine = await startFauxqs();
    onTestFinished(engine.stop);
    const s3 = new S3Client({ ...localClient(engine.endpoint), forcePathStyle: true });
    const bucket = await createBucket(engine.endpoint);
    const params = { messages: [{ role: "user", content: [{ text: "x".repeat(420_000) }] }] };
    const Body = Array.from({ length: 25 }, (_, n) => JSON.stringify({ ...aJob(`night/${n}`), params })).join("\n");
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: "night.jsonl", Body }));
    const sluice = createTestClient({ answer: () => "A summary.", config: { models: models() } });
    const batches: number[] = [];
    const submitBatch: Client["submitBatch"] = async (batch) => {
      batches.push(batch.length);
      return await sluice.submitBatch(batch);
    };
    expect(await submitFile({ ...sluice, submitBatch }, s3, bucket, "night.jsonl")).toMatchObject({ sent: 25 });
    expect(Math.max(...batches)).toBeLessThan(22);
  });

  test("keeps to its budget: what the day's money does not reach waits for the next", async () => {
    const { default: config } = await kitchen.load<{ readonly default: ConfigInput }>(4, "budget.ts");
    const startMs = Date.parse("2026-11-29T03:00:00Z");
    const output = { output: { message: { content: [] } }, usage: { inputTokens: 0, outputTokens: 500_000_000 } };
    const sluice = createTestClient({ answer: () => output, config, startMs });
    await sluice.submit(aJob("2026-11-29/1"));
    await sluice.run();
    await sluice.submit(aJob("2026-11-29/2"));
    await sluice.pass(3_600_000);
    expect(sluice.asked).toHaveLength(1);
    await sluice.run();
    expect(new Date(sluice.nowMs()).toISOString()).toMatch(/^2026-11-30T00/);
    expect(sluice.asked).toHaveLength(2);
  });
});

describe("a second region", () => {
  test("takes over from a dead one, and the breaker spares later jobs the trying", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(kitchen.folder(5), "region-down.ts")]);
    expect(stdout).toBe(/```text\n(order-1[\s\S]*?)```/.exec(recipes)?.[1]);
  });

  test("is left alone while the first has room, and shares a quota by its group", async () => {
    const { default: config } = await kitchen.load<{ readonly default: ConfigInput }>(5, "sluice.config.ts");
    const sluice = createTestClient({ answer: () => "A summary.", config });
    await sluice.submitBatch([aJob("a"), { ...aJob("b"), model: "classify" }]);
    await sluice.run();
    expect(sluice.asked.map(({ model, target }) => `${model}@${target}`).toSorted()).toEqual([
      "classify@us-west-2",
      "fast-text@us-west-2",
    ]);
    expect(targetsOf(checkConfig(config)).map(({ target }) => target.quotaGroup)).toEqual([
      "nova-west",
      undefined,
      "nova-west",
    ]);
  });
});

function aJob(jobId: string): JobOf<"converse"> {
  return {
    jobId,
    model: "fast-text",
    op: "converse",
    lane: "bulk",
    params: { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] },
  };
}

function models() {
  const west = {
    modelId: "us.amazon.nova-lite-v1:0",
    region: "us-west-2",
    limit: { start: 1, max: 1 },
    maxTokens: 100,
  };
  return { "fast-text": { targets: { west } } };
}
