import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { TestContext } from "vitest";

import { startFauxqs } from "../../infra/local/engines.ts";
import type { Engine } from "../../infra/local/engines.ts";
import { openEnvironments } from "../../infra/local/environments.ts";
import { startMapping } from "../../infra/local/event-source-mapping.ts";
import type { MappingNews } from "../../infra/local/event-source-mapping.ts";

/** Does what each body says, at its first receive; afterwards every record succeeds. */
const toy = `
export const handler = async (event, context) => {
  const first = event.Records.filter((record) => record.attributes.ApproximateReceiveCount === "1");
  if (first.some(({ body }) => body === "throw")) throw new RangeError("as told");
  if (first.some(({ body }) => body === "hang")) await new Promise(() => setInterval(() => {}, 1e6));
  if (first.some(({ body }) => body === "slow")) await new Promise((done) => setTimeout(done, 300));
  const failed = first.filter(({ body }) => body === "fail");
  return {
    batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })),
    pid: process.pid, leftMs: context.getRemainingTimeInMillis(), word: process.env.WORD, home: process.env.HOME,
  };
};`;

let engine: Engine;
let folder: string;
let queues = 0;

beforeAll(async () => {
  engine = await startFauxqs();
  folder = await mkdtemp(join(tmpdir(), "sluice-toy-"));
  await writeFile(join(folder, "toy.mjs"), toy);
});
afterAll(async () => {
  await engine.stop();
  await rm(folder, { recursive: true });
});

interface Setting {
  readonly batchSize?: number;
  readonly windowMs?: number;
  readonly concurrencyMax?: number;
  readonly timeoutMs?: number;
  readonly visibilityS?: number;
  readonly client?: (sqs: SQSClient) => void;
}

/** A queue whose messages come again after a second, a mapping and the toy; `told` grows as it runs. */
async function given(bodies: readonly string[], setting: Setting, finished: TestContext["onTestFinished"]) {
  const sqs = new SQSClient({
    endpoint: engine.endpoint,
    region: "us-west-2",
    useQueueUrlAsEndpoint: false,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  setting.client?.(sqs);
  const queueName = `q-${++queues}`;
  const visibilityS = setting.visibilityS ?? 1;
  const created = await sqs.send(
    new CreateQueueCommand({ QueueName: queueName, Attributes: { VisibilityTimeout: String(visibilityS) } }),
  );
  const queueUrl = created.QueueUrl ?? "";
  for (const body of bodies) await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));

  const told: MappingNews[] = [];
  const environments = openEnvironments(
    {
      name: "toy",
      file: join(folder, "toy.mjs"),
      handler: "handler",
      memoryMb: 128,
      timeoutMs: setting.timeoutMs ?? 5_000,
      variables: { WORD: "sluice" },
    },
    new PassThrough().resume(),
  );
  const mapping = startMapping(
    {
      queueUrl,
      queueArn: `arn:aws:sqs:us-west-2:000000000000:${queueName}`,
      visibilityS,
      reportsFailures: true,
      batchSize: setting.batchSize ?? 1,
      windowMs: setting.windowMs ?? 0,
      concurrencyMax: setting.concurrencyMax ?? 1,
    },
    sqs,
    (event) => environments.invoke(event),
    (news) => told.push(news),
  );
  finished(async () => {
    await Promise.all([mapping.stop(), environments.stop()]);
    sqs.destroy();
  });
  return { sqs, queueUrl, told, environments };
}

type InvokedNews = Extract<MappingNews, { kind: "invoked" }>;

function invocations(told: readonly MappingNews[]): readonly InvokedNews[] {
  return told.filter((news) => news.kind === "invoked");
}

/** What became of each invocation: bodies with their receive counts, how it ended, how many were deleted. */
function story(told: readonly MappingNews[]): readonly string[] {
  return invocations(told).map(
    ({ records, how, deleted }) =>
      `${records.map(({ body, attributes }) => `${body}#${attributes.ApproximateReceiveCount}`).join(" ")} ` +
      `${how.kind === "threw" ? how.name : how.kind}, ${deleted} deleted`,
  );
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20);
}

type Counted = "ApproximateNumberOfMessages" | "ApproximateNumberOfMessagesNotVisible";

async function countIn({ sqs, queueUrl }: { sqs: SQSClient; queueUrl: string }, counted: Counted): Promise<number> {
  const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: [counted] });
  return Number((await sqs.send(command)).Attributes?.[counted]);
}

async function messagesIn(at: { sqs: SQSClient; queueUrl: string }): Promise<number> {
  return (
    (await countIn(at, "ApproximateNumberOfMessages")) + (await countIn(at, "ApproximateNumberOfMessagesNotVisible"))
  );
}

function pidOf(news: InvokedNews | undefined): unknown {
  return returnedBy(news)["pid"];
}

function returnedBy(news: InvokedNews | undefined): Record<string, unknown> {
  return news?.how.kind === "returned" ? { ...Object(news.how.value) } : {};
}

/** No engine answers a batch with a failed entry when told to. */
function refuseFirstDelete(sqs: SQSClient): void {
  let refusals = 1;
  sqs.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== "DeleteMessageBatchCommand" || refusals-- <= 0) return await next(args);
        const Failed = [{ Id: "0", SenderFault: false, Code: "InternalError" }];
        return { response: {}, output: { $metadata: {}, Failed } };
      },
    { step: "initialize" },
  );
}

/** What each call of the mapping hides messages for, in order. */
function hidings(sqs: SQSClient, heard: string[]): void {
  sqs.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const { VisibilityTimeout, Entries } = { Entries: [], VisibilityTimeout: undefined, ...args.input } as {
          VisibilityTimeout?: number;
          Entries: { VisibilityTimeout?: number }[];
        };
        const seconds = VisibilityTimeout ?? Entries[0]?.VisibilityTimeout;
        if (seconds !== undefined) heard.push(`${commandName.replace(/Message.*/, "")} ${seconds}`);
        return await next(args);
      },
    { step: "initialize" },
  );
}

/** Throws at the first call of each command, as an SQS that nobody reaches. */
function refuseFirstCalls(sqs: SQSClient): void {
  const refused = new Set<string>();
  sqs.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        if (refused.has(commandName) || !/^(Receive|Delete)Message/.test(commandName)) return await next(args);
        refused.add(commandName);
        throw Object.assign(new Error("as told"), { name: "ServiceUnavailable" });
      },
    { step: "initialize" },
  );
}

describe.concurrent("the event source mapping", () => {
  test("deletes what succeeded, and what failed comes again when its visibility ends", async ({
    expect,
    onTestFinished,
  }) => {
    const { told, ...at } = await given(["ok", "fail", "ok"], { batchSize: 10, windowMs: 500 }, onTestFinished);
    await until(() => invocations(told).length === 2);
    expect(story(told)).toEqual(["ok#1 fail#1 ok#1 returned, 2 deleted", "fail#2 returned, 1 deleted"]);
    expect(await messagesIn(at)).toBe(0);
  });

  test("brings a batch again whose handler threw, in the same environment", async ({ expect, onTestFinished }) => {
    const { told, environments } = await given(["throw"], {}, onTestFinished);
    await until(() => invocations(told).length === 2);
    expect(story(told)).toEqual(["throw#1 RangeError, 0 deleted", "throw#2 returned, 1 deleted"]);
    expect(environments.stats().started).toBe(1);
  });

  test(
    "kills an environment at the function's timeout and starts a fresh one",
    { timeout: 20_000 },
    async ({ expect, onTestFinished }) => {
      const { told, environments } = await given(["hang"], { timeoutMs: 2_500 }, onTestFinished);
      await until(() => invocations(told).length === 2);
      expect(story(told)).toEqual(["hang#1 timed-out, 0 deleted", "hang#2 returned, 1 deleted"]);
      expect(environments.stats().started).toBe(2);
    },
  );

  test("counts a killed environment as a throw and starts a fresh one", async ({ expect, onTestFinished }) => {
    const { told, environments } = await given(["hang"], {}, onTestFinished);
    await until(() => environments.running().length === 1);
    environments.running()[0]?.kill();
    await until(() => invocations(told).length === 2);
    expect(story(told)).toEqual(["hang#1 EnvironmentDied, 0 deleted", "hang#2 returned, 1 deleted"]);
    expect(environments.stats().started).toBe(2);
  });

  test("gathers what comes within its window", async ({ expect, onTestFinished }) => {
    const { told, ...at } = await given(["a"], { batchSize: 10, windowMs: 800 }, onTestFinished);
    // Received, and not yet handed on.
    await until(async () => (await countIn(at, "ApproximateNumberOfMessagesNotVisible")) === 1);
    expect(told).toEqual([]);
    await at.sqs.send(new SendMessageCommand({ QueueUrl: at.queueUrl, MessageBody: "b" }));
    await until(() => invocations(told).length === 1);
    expect(story(told)).toEqual(["a#1 b#1 returned, 2 deleted"]);
  });

  test("receives for half a minute, and hands over for the queue's own visibility", async ({
    expect,
    onTestFinished,
  }) => {
    const heard: string[] = [];
    const client = (sqs: SQSClient) => hidings(sqs, heard);
    const { told } = await given(["ok"], { visibilityS: 600, client }, onTestFinished);
    await until(() => invocations(told).length === 1);
    expect(heard.filter((call) => call.startsWith("Change"))).toEqual(["Change 600"]);
    expect(heard.indexOf("Change 600")).toBe(
      heard.findLastIndex((call, at) => call === "Receive 30" && at < heard.indexOf("Change 600")) + 1,
    );
  });

  test("keeps an environment warm, and gives it the function's time and variables alone", async ({
    expect,
    onTestFinished,
  }) => {
    const { told } = await given(["a", "b"], { timeoutMs: 5_000 }, onTestFinished);
    await until(() => invocations(told).length === 2);
    const [first, second] = invocations(told);
    expect(pidOf(first)).toBe(pidOf(second));
    expect(returnedBy(first)).toMatchObject({ word: "sluice" });
    expect(returnedBy(first)).not.toHaveProperty("home");
    expect(returnedBy(first)["leftMs"]).toSatisfy((leftMs: number) => leftMs > 0 && leftMs <= 5_000);
  });

  test("runs no more invocations at a time than its maximum, each in an environment of its own", async ({
    expect,
    onTestFinished,
  }) => {
    const { told, environments } = await given(
      ["slow", "slow", "slow", "slow", "slow"],
      { concurrencyMax: 2 },
      onTestFinished,
    );
    await until(() => invocations(told).length === 5);
    const running = told.map(({ kind }) => (kind === "invoking" ? 1 : -1));
    const most = Math.max(...running.map((_, at) => running.slice(0, at + 1).reduce((sum, one) => sum + one, 0)));
    expect(most).toBe(2);
    expect(environments.stats().started).toBe(2);
    expect(new Set(invocations(told).map(pidOf)).size).toBe(2);
  });

  test("deletes again what a batch answered as failed", async ({ expect, onTestFinished }) => {
    const { told, ...at } = await given(["ok"], { client: refuseFirstDelete }, onTestFinished);
    await until(() => invocations(told).length === 1);
    expect(story(told)).toEqual(["ok#1 returned, 1 deleted"]);
    expect(told).toContainEqual({ kind: "trouble", what: "delete", name: "InternalError" });
    expect(await messagesIn(at)).toBe(0);
  });

  test("tells of an SQS that cannot be reached, and goes on", async ({ expect, onTestFinished }) => {
    const { told, ...at } = await given(["ok"], { client: refuseFirstCalls }, onTestFinished);
    await until(() => invocations(told).length === 1);
    expect(story(told)).toEqual(["ok#1 returned, 1 deleted"]);
    expect(told.filter(({ kind }) => kind === "trouble")).toEqual([
      { kind: "trouble", what: "receive", name: "ServiceUnavailable" },
      { kind: "trouble", what: "delete", name: "ServiceUnavailable" },
    ]);
    expect(await messagesIn(at)).toBe(0);
  });

  test("deletes what succeeded ten at a time, however big the batch", async ({ expect, onTestFinished }) => {
    const sizes: number[] = [];
    // The engine would take more.
    const client = (sqs: SQSClient) =>
      sqs.middlewareStack.add(
        (next) => async (args) => {
          if ("Entries" in args.input) sizes.push(args.input.Entries?.length ?? 0);
          return await next(args);
        },
        { step: "initialize" },
      );
    const bodies = Array.from({ length: 12 }, () => "ok");
    const { told, ...at } = await given(bodies, { batchSize: 12, windowMs: 1_000, client }, onTestFinished);
    await until(() => invocations(told).length === 1);
    expect(invocations(told)).toMatchObject([{ deleted: 12 }]);
    expect(sizes).toEqual([10, 2]);
    expect(await messagesIn(at)).toBe(0);
  });
});
