import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SendMessageBatchCommandInput } from "@aws-sdk/client-sqs";
import { beforeEach, describe, expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { JobRefused } from "../../lib/client/index.ts";
import type { Job, JobOf, ParamsOf } from "../../lib/client/index.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { submit, submitBatch } from "../../lib/client/submit.ts";
import { readBody } from "../../lib/core/feeds.ts";
import { contentOf } from "../../lib/core/job.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { createBucket, createQueue, engineForTests, localClient } from "../contract/engines.ts";

const endpoint = await engineForTests(startFauxqs);
const bucket = await createBucket(endpoint);
const s3 = new S3Client({ ...localClient(endpoint), forcePathStyle: true });

let sqs: SQSClient;
let queueUrls: Record<Lane, string>;
let requests: object[];
beforeEach(async () => {
  sqs = new SQSClient({ ...localClient(endpoint), useQueueUrlAsEndpoint: false });
  const [rt, bg, bulk] = await Promise.all([createQueue(endpoint), createQueue(endpoint), createQueue(endpoint)]);
  queueUrls = { rt, bg, bulk };
  requests = [];
  sqs.middlewareStack.add(
    (next) => async (args) => {
      requests.push(args.input);
      return await next(args);
    },
    { step: "initialize" },
  );
});

const outbox = () => createOutbox(sqs, s3, queueUrls);
const clock = {
  nowMs: () => 0,
  sleep: () => Promise.resolve(),
  after: () => () => undefined,
  jitter: () => 0.5,
  newId: () => "id",
};
const sendAll = (jobs: readonly Job[], into?: string) => submitBatch(jobs, outbox(), into, clock);

type Facts = Partial<Pick<JobOf<"converse">, "jobId" | "model" | "lane" | "deadlineAt" | "tenant" | "metadata">>;
type Params = ParamsOf["converse"];
const saying = (text: string): Params => ({ messages: [{ role: "user", content: [{ text }] }] });
const job = (facts: Facts = {}, params = saying("Hello")): Job => ({
  jobId: "j-1",
  model: "fast-text",
  op: "converse",
  params,
  ...facts,
});

function isBatch(input: object): input is SendMessageBatchCommandInput {
  return "Entries" in input;
}
const entriesOf = (input: object) => (isBatch(input) ? (input.Entries ?? []) : []);
const batchSizes = () => requests.map((input) => entriesOf(input).length);

/** What lies in a queue, as the worker reads it; each message once. */
async function received(lane: Lane) {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: queueUrls[lane], MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
    );
    if (Messages.length === 0) break;
    bodies.push(...Messages.map(({ Body = "" }) => Body));
  }
  return bodies.map((body) => {
    const read = readBody(body);
    if (read.kind !== "envelope") throw new Error(`the worker would not read it: ${read.kind}`);
    return read.envelope;
  });
}
const ids = async (lane: Lane) => (await received(lane)).map(({ jobId }) => jobId).toSorted();

describe("a submitted job", () => {
  test("is read by the worker as it was asked", async () => {
    expect(await submit(job({ metadata: { k: "v" }, deadlineAt: "2026-12-01T00:00:00Z" }), outbox(), undefined)).toBe(
      "j-1",
    );
    expect(await received("bg")).toEqual([
      {
        jobId: "j-1",
        model: "fast-text",
        op: "converse",
        params: { kind: "inline", params: { messages: [{ role: "user", content: [{ text: "Hello" }] }] } },
        deadlineAtMs: Date.UTC(2026, 11, 1),
        fallback: "default",
        metadata: { k: "v" },
      },
    ]);
  });

  test.each(["rt", "bg", "bulk"] as const)("with lane %s goes to that lane's queue", async (lane) => {
    await submit(job({ lane }), outbox(), undefined);
    expect(await ids(lane)).toEqual(["j-1"]);
  });

  test("takes its tenant along as the message's group, so that the queue is fair", async () => {
    await submit(job({ tenant: "acme" }), outbox(), undefined);
    expect(requests).toMatchObject([{ MessageGroupId: "acme" }]);
  });

  test("without a tenant has no group", async () => {
    await submit(job(), outbox(), undefined);
    expect(requests[0]).not.toHaveProperty("MessageGroupId");
  });

  test("may hold any character, and is counted with its neighbours as SQS counts it", async () => {
    const long = job({ jobId: "j-2" }, saying("👋".repeat(100_000)));
    const sent = await sendAll([job(), long, job({ jobId: "j-3" })]);
    expect(sent.map(({ kind }) => kind)).toEqual(["sent", "sent", "sent"]);
    expect(batchSizes()).toEqual([3]);
    expect(JSON.stringify(await received("bg"))).toContain("👋👋");
  });

  test("may hold bytes, which go as base64", async () => {
    const image = { image: { format: "png", source: { bytes: new TextEncoder().encode("Ada") } } } as const;
    await submit(job({}, { messages: [{ role: "user", content: [image] }] }), outbox(), undefined);
    expect(JSON.stringify(await received("bg"))).toContain('"bytes":"QWRh"');
  });

  const faults: [says: string, facts: object, field: string][] = [
    ["a bad jobId", { jobId: "no spaces" }, "jobId"],
    ["a typo", { modle: "fast-text" }, "modle"],
    ["no params", { params: undefined }, "params"],
    ["both params and paramsRef", { paramsRef: "s3://bucket/key" }, "paramsRef"],
    [
      "a number that is none",
      { params: { inferenceConfig: { temperature: Number.NaN } } },
      "params.inferenceConfig.temperature",
    ],
    ["params over 900 KB and no bucket", { params: { system: [{ text: "x".repeat(900_000) }] } }, "params"],
    [
      "a chain that alone fills a message",
      { fallback: Array.from({ length: 9_000 }, () => `${"m".repeat(64)}@${"t".repeat(64)}`) },
      "body",
    ],
    ["a deadline without a zone", { deadlineAt: "2026-12-01T00:00:00" }, "deadlineAt"],
  ];
  test.each(faults)("with %s is refused before it is sent", async (_says, facts, field) => {
    const refusal: unknown = await submit({ ...job(), ...facts }, outbox(), undefined).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(JobRefused);
    expect(refusal).toMatchObject({ field, message: expect.stringContaining(field) });
    expect(requests).toEqual([]);
  });

  test("that AWS does not take is AWS's error", async () => {
    queueUrls = { ...queueUrls, bg: queueUrls.bg.replace(/[^/]+$/, "no-such-queue") };
    await expect(submit(job(), outbox(), undefined)).rejects.toThrow(/queue/i);
  });
});

describe("params over 900 KB", () => {
  const big = job({ jobId: "j-big" }, saying("é".repeat(450_000)));

  test("go to S3 and the message points there", async () => {
    await submit(big, outbox(), bucket);
    const [envelope] = await received("bg");
    if (envelope?.params.kind !== "ref") throw new Error("no reference");
    expect(envelope.params.bucket).toBe(bucket);
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: envelope.params.key }));
    expect(JSON.parse((await Body?.transformToString()) ?? "")).toEqual(big.params);
  });

  test("stay the same job when they are sent again, in whatever order their keys are", async () => {
    const { messages } = saying("x".repeat(900_000));
    await sendAll([job({}, { messages, system: [] }), job({}, { system: [], messages })], bucket);
    const contents = (await received("bg")).map(contentOf);
    expect(contents).toHaveLength(2);
    expect(new Set(contents).size).toBe(1);
  });

  test("are measured in UTF-8: half as many characters of two bytes are too many", async () => {
    expect(await sendAll([big])).toMatchObject([{ kind: "refused", fault: { field: "params" } }]);
  });

  test("fail alone when S3 does not take them", async () => {
    expect(await sendAll([big, job()], "no-such-bucket")).toMatchObject([
      { index: 0, jobId: "j-big", kind: "failed" },
      { index: 1, jobId: "j-1", kind: "sent" },
    ]);
  });
});

describe("a batch", () => {
  test("of any size and of all lanes arrives whole", async () => {
    const jobs = Array.from({ length: 65 }, (_, n) => job({ jobId: `j-${n}`, lane: n % 3 === 0 ? "rt" : "bulk" }));
    const outcomes = await sendAll(jobs);
    expect(outcomes).toEqual(jobs.map(({ jobId }, index) => ({ index, jobId, kind: "sent" })));
    expect([...(await ids("rt")), ...(await ids("bulk"))].toSorted()).toEqual(
      jobs.map(({ jobId }) => jobId).toSorted(),
    );
  });

  test("of nothing sends nothing", async () => {
    expect(await sendAll([])).toEqual([]);
    expect(requests).toEqual([]);
  });

  test("of big messages is cut below 1 MiB, in bytes", async () => {
    const jobs = Array.from({ length: 7 }, (_, n) => job({ jobId: `j-${n}` }, saying("é".repeat(150_000))));
    expect((await sendAll(jobs)).map(({ kind }) => kind)).toEqual(jobs.map(() => "sent"));
    expect(batchSizes()).toEqual([3, 3, 1]);
  });

  test("goes in the order of its list, also past a job that waits for S3", async () => {
    await sendAll([job({ jobId: "a" }, saying("x".repeat(900_000))), job({ jobId: "b" }), job({ jobId: "c" })], bucket);
    const [request = {}] = requests;
    expect(entriesOf(request).map(({ MessageBody = "" }) => readBody(MessageBody))).toMatchObject([
      { envelope: { jobId: "a" } },
      { envelope: { jobId: "b" } },
      { envelope: { jobId: "c" } },
    ]);
  });

  test("tells a fault of one and sends the others", async () => {
    const outcomes = await sendAll([job({ jobId: "a" }), job({ jobId: "b", model: "" }), job({ jobId: "c" })]);
    expect(outcomes).toMatchObject([
      { jobId: "a", kind: "sent" },
      { index: 1, jobId: "b", kind: "refused", fault: { field: "model" } },
      { jobId: "c", kind: "sent" },
    ]);
    expect(await ids("bg")).toEqual(["a", "c"]);
  });

  test.each([[null], [undefined], ["a job"], [7], [[]], [{}]])(
    "with %j for a job refuses it, and sends the others",
    async (none) => {
      const outcomes = await Reflect.apply(sendAll, undefined, [[job({ jobId: "a" }), none, job({ jobId: "c" })]]);
      expect(outcomes).toMatchObject([
        { kind: "sent" },
        { index: 1, jobId: "", kind: "refused", fault: { message: expect.any(String) } },
        { kind: "sent" },
      ]);
      await expect(Reflect.apply(submit, undefined, [none, outbox(), undefined])).rejects.toBeInstanceOf(JobRefused);
    },
  );

  test("with a job whose id cannot be read says so of that one, and sends the others", async () => {
    const unreadable = Object.defineProperty(job(), "jobId", {
      enumerable: true,
      get: () => {
        throw new RangeError("as told");
      },
    });
    const outcomes = await sendAll([unreadable, job({ jobId: "b" })]);
    expect(outcomes).toMatchObject([{ jobId: "", kind: "failed", name: "RangeError" }, { kind: "sent" }]);
  });

  test("with a job that cannot be read says so of that one, and sends the others", async () => {
    const unreadable = Object.defineProperty(saying("Hello"), "system", {
      enumerable: true,
      get: () => {
        throw new RangeError("as told");
      },
    });
    const outcomes = await sendAll([job({ jobId: "a" }), job({ jobId: "b" }, unreadable), job({ jobId: "c" })]);
    expect(outcomes).toMatchObject([{ kind: "sent" }, { kind: "failed", name: "RangeError" }, { kind: "sent" }]);
    expect(await ids("bg")).toEqual(["a", "c"]);
  });

  test("whose request fails as a whole says so of each, and the other lanes go", async () => {
    queueUrls = { ...queueUrls, bg: queueUrls.bg.replace(/[^/]+$/, "no-such-queue") };
    const outcomes = await sendAll([job({ jobId: "a" }), job({ jobId: "b", lane: "rt" }), job({ jobId: "c" })]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "sent", "failed"]);
    expect(outcomes[0]).toHaveProperty("name", expect.stringMatching(/Queue/));
  });
});

/** The engine fails no single entry, so its answer is rewritten on the way back: the entry named is failed instead. */
function failing(jobId: string, times: number, SenderFault: boolean) {
  let left = times;
  sqs.middlewareStack.add(
    (next) => async (args) => {
      const entries = entriesOf(args.input);
      const struck = left > 0 ? entries.find(({ MessageBody }) => MessageBody?.includes(`"${jobId}"`)) : undefined;
      if (struck === undefined) return await next(args);
      left -= 1;
      const Entries = entries.filter((entry) => entry !== struck);
      const failed = { Id: struck.Id, SenderFault, Code: "Struck" };
      if (Entries.length === 0) return { response: {}, output: { $metadata: {}, Successful: [], Failed: [failed] } };
      const { output, response } = await next({ ...args, input: { ...args.input, Entries } });
      return { response, output: { ...output, Failed: [failed] } };
    },
    { step: "initialize", priority: "low" },
  );
}

describe("an entry that SQS fails", () => {
  const three = [job({ jobId: "a" }), job({ jobId: "b" }), job({ jobId: "c" })];

  test("by its own fault goes again, alone", async () => {
    failing("b", 2, false);
    expect((await sendAll(three)).map(({ kind }) => kind)).toEqual(["sent", "sent", "sent"]);
    expect(batchSizes()).toEqual([3, 1, 1]);
    expect(await ids("bg")).toEqual(["a", "b", "c"]);
  });

  test("again and again is told after the third time, by SQS's name for it", async () => {
    failing("b", 3, false);
    expect(await sendAll(three)).toMatchObject([
      { kind: "sent" },
      { kind: "failed", name: "Struck" },
      { kind: "sent" },
    ]);
    expect(await ids("bg")).toEqual(["a", "c"]);
  });

  test("by the sender's fault does not go again", async () => {
    failing("b", 1, true);
    expect(await sendAll(three)).toMatchObject([
      { kind: "sent" },
      { kind: "failed", name: "Struck" },
      { kind: "sent" },
    ]);
    expect(requests).toHaveLength(1);
  });
});
