/** The recipes for those who come from elsewhere, and for their tests. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { describe, expect, test } from "vitest";
import type { Client, JobOf, ParamsOf, ReplyOf } from "../../lib/client/index.ts";
import { createTestClient, ModelError } from "../../lib/testing/index.ts";
import { openKitchen } from "./document.ts";

const kitchen = openKitchen();

describe("who leaves his own queue and its consumer", async () => {
  interface Order {
    readonly id: string;
    readonly text: string;
  }
  const { isForSluice, send } = await kitchen.load<{
    readonly isForSluice: (id: string, percent: number) => boolean;
    readonly send: (order: Order, ways: object) => Promise<void>;
  }>(6, "both-ways.ts");
  const { onReply } = await kitchen.load<{
    readonly onReply: (
      save: (order: string, result: object) => Promise<void>,
      s3: object,
      sluice: Client,
    ) => (event: Pick<SQSEvent, "Records">) => Promise<SQSBatchResponse>;
  }>(6, "on-reply.ts");
  const ids = Array.from({ length: 2_000 }, (_, n) => `o-${n}`);

  test("sends about the part that he says, and takes nothing back when he raises it", () => {
    const parts = [0, 1, 10, 50, 100].map((percent) => ids.filter((id) => isForSluice(id, percent)));
    const [none = [], , tenth = [], half = [], all = []] = parts;
    expect(none).toEqual([]);
    expect(tenth.length).toBeGreaterThan(140);
    expect(tenth.length).toBeLessThan(260);
    expect(half).toEqual(expect.arrayContaining(tenth));
    expect(all).toEqual(ids);
  });

  const noS3 = { send: () => Promise.reject(new Error("nothing lies in S3")) };
  const ways = { percent: 100, resultsQueueUrl: "https://sqs.us-west-2.amazonaws.com/123456789012/results" };

  test("has the whole of a big answer, from where it lies", async () => {
    const text = "a".repeat(100_000);
    const sluice = createTestClient({ answer: () => text });
    await send({ id: "o-1", text: "…" }, { ...ways, sluice });
    await sluice.run();
    const saved = new Map<string, object>();
    const asked: object[] = [];
    const lying = JSON.stringify({ output: { message: { content: [{ text }] } } });
    const s3 = {
      async send({ input }: { readonly input: object }) {
        asked.push(input);
        return { Body: { transformToString: async () => lying } };
      },
    };
    const reply = sluice.announced[0]?.reply ?? "";
    expect(
      await onReply(
        async (order, result) => void saved.set(order, result),
        s3,
        sluice,
      )({ Records: [aRecord("m", reply)] }),
    ).toEqual({ batchItemFailures: [] });
    const { Bucket, Key } = { Bucket: "", Key: "", ...asked[0] };
    expect(JSON.parse(reply)).toMatchObject({ outputRef: `s3://${Bucket}/${Key}` });
    expect(Object.fromEntries(saved)).toEqual({ "o-1": { text } });
  });

  test("has an answer that did not fit into the message, and hears of one that was forgotten", async () => {
    const sluice = createTestClient({ answer: () => "Short." });
    await send({ id: "o-1", text: "…" }, { ...ways, sluice });
    await sluice.run();
    const { output: _output, ...bare } = JSON.parse(sluice.announced[0]?.reply ?? "");
    const saved: object[] = [];
    const handler = onReply(async (order, result) => void saved.push({ order, ...result }), noS3, sluice);
    const event = { Records: [aRecord("m", JSON.stringify(bare))] };
    await handler(event);
    await sluice.forget("order/o-1");
    await handler(event);
    expect(saved).toEqual([
      { order: "o-1", text: "Short." },
      { order: "o-1", error: "forgotten" },
    ]);
  });

  test("hears of an order that was cancelled, whose reply has no metadata", async () => {
    const sluice = createTestClient({ answer: () => "Short." });
    await sluice.cancel("order/o-1");
    await send({ id: "o-1", text: "…" }, { ...ways, sluice });
    await sluice.run();
    const saved: object[] = [];
    const handler = onReply(async (order, result) => void saved.push({ order, ...result }), noS3, sluice);
    await handler({ Records: sluice.announced.map(({ reply }, n) => aRecord(`m-${n}`, reply)) });
    expect(saved).toEqual([{ order: "o-1", error: "cancelled" }]);
  });

  test("has each order go one way, and hears of those that went this one", async () => {
    const sluice = createTestClient({
      answer: ({ jobId }) =>
        jobId === "order/o-1" ? new ModelError("ValidationException", { status: 400 }) : `About ${jobId}`,
    });
    const old: string[] = [];
    const resultsQueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/results";
    const sendTheOldWay = async ({ id }: Order) => void old.push(id);
    const here = ids.slice(0, 20).filter((id) => id === "o-1" || isForSluice(id, 50));
    for (const id of ids.slice(0, 20))
      await send({ id, text: "…" }, { percent: id === "o-1" ? 100 : 50, sluice, resultsQueueUrl, sendTheOldWay });
    await sluice.run();
    expect(old.length).toBeGreaterThan(0);
    expect([...old, ...here].toSorted()).toEqual(ids.slice(0, 20).toSorted());

    const saved = new Map<string, object>();
    const handler = onReply(
      async (order, result) => {
        if (order === here.at(-1)) throw new Error("the table is away");
        saved.set(order, result);
      },
      noS3,
      sluice,
    );
    const Records = sluice.announced.map(({ reply }, n) => aRecord(`m-${n}`, reply));
    const last = Records.findIndex(({ body }) => body.includes(`"order/${here.at(-1)}"`));
    expect(await handler({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: `m-${last}` }] });
    expect(Object.fromEntries(saved)).toEqual(
      Object.fromEntries(
        here.slice(0, -1).map((id) => [id, id === "o-1" ? { error: "provider_error" } : { text: `About order/${id}` }]),
      ),
    );
  });
});

describe("who leaves a FIFO queue", async () => {
  type Next = (at: number, last: ReplyOf<"converse"> | undefined) => ParamsOf["converse"];
  const { inOrder } = await kitchen.load<{
    readonly inOrder: (sluice: Client, group: string, count: number, next: Next) => Promise<ReplyOf<"converse">[]>;
  }>(7, "in-order.ts");
  const next: Next = (at) => ({ messages: [{ role: "user", content: [{ text: `Step ${at}.` }] }] });
  const aJob = (at: number): JobOf<"converse"> => ({
    jobId: `g/${at}`,
    model: "fast-text",
    op: "converse",
    params: next(at, undefined),
  });

  test("has a group's jobs run one after the other, with its name as their tenant, and begins again where he was", async () => {
    let under = 0;
    let underMax = 0;
    const sluice = createTestClient({
      latencyMs: 1_000,
      async answer() {
        underMax = Math.max(underMax, ++under);
        await Promise.resolve();
        under -= 1;
        return "Done.";
      },
    });
    await inOrder(sluice, "customer-7", 2, next);
    expect(await inOrder(sluice, "customer-7", 3, next)).toHaveLength(3);
    expect(sluice.asked.map(({ jobId }) => jobId)).toEqual(["customer-7/0", "customer-7/1", "customer-7/2"]);
    expect(sluice.submitted.map(({ job }) => job.tenant)).toEqual(Array(5).fill("customer-7"));
    expect(underMax).toBe(1);
  });

  test("ends at a job that fails", async () => {
    const sluice = createTestClient({
      answer: ({ jobId }) => (jobId === "g/1" ? new ModelError("ValidationException", { status: 400 }) : "Done."),
    });
    expect((await inOrder(sluice, "g", 3, next)).map(({ ok }) => ok)).toEqual([true, false]);
  });

  test("is told of an id that is used for other content", async () => {
    const sluice = createTestClient({ answer: () => "Done." });
    await sluice.submit(aJob(0));
    await sluice.run();
    await sluice.submit({ ...aJob(0), model: "smart-text" });
    await sluice.pass(60_000);
    expect(sluice.parked).toMatchObject([{ reason: "job_id_reused" }]);
  });

  test("may have one at a time by a limit of the operation's own", async () => {
    const { default: config } = await kitchen.load<{ readonly default: object }>(5, "sluice.config.ts");
    const operations = { "write-ledger": { limitMax: 1 } };
    const spans: [from: number, to: number][] = [];
    const sluice = createTestClient({
      config: { models: {}, ...config, operations },
      latencyMs: 1_000,
      answer() {
        spans.push([sluice.nowMs() - 1_000, sluice.nowMs()]);
        return "Done.";
      },
    });
    await sluice.submitBatch([0, 1, 2].map((n) => ({ ...aJob(n), operation: "write-ledger" })));
    await sluice.run();
    expect(spans).toHaveLength(3);
    expect(spans.every(([from], n) => n === 0 || from >= (spans[n - 1]?.[1] ?? 0))).toBe(true);
  });
});

test("the tests of one's own code pass", async () => {
  const run = promisify(execFile)(process.execPath, ["--test", join(kitchen.folder(9), "summarise.test.ts")], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(/pass 6\n[\s\S]*fail 0\n/);
}, 60_000);

function aRecord(messageId: string, body: string): SQSEvent["Records"][number] {
  return {
    messageId,
    body,
    receiptHandle: "",
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "0",
      SenderId: "",
      ApproximateFirstReceiveTimestamp: "0",
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-west-2:123456789012:results",
    awsRegion: "us-west-2",
  };
}
