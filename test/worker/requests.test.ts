/** What a job costs in requests, counted on the wire between the adapters and a real engine. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable as jobTableOn } from "../../lib/aws/job-table.ts";
import { createLeaseTable as leaseTableOn } from "../../lib/aws/lease-table.ts";
import { createQueue as queueOn } from "../../lib/aws/queue.ts";
import type { TargetConfig } from "../../lib/core/config.ts";
import type { Delivery } from "../../lib/core/job.ts";
import { scriptedModels } from "../../lib/memory/models.ts";
import { createMemoryAnnouncer } from "../../lib/memory/announcer.ts";
import { createMemoryObjects } from "../../lib/memory/objects.ts";
import { createMemoryOutbox } from "../../lib/memory/outbox.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import { freshMs } from "../../lib/worker/board.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { a } from "../a.ts";
import { createJobTable, createLeaseTable, createQueue, localClient, startEngines } from "../contract/engines.ts";
import { aService, config } from "./a-service.ts";

const engines = await startEngines();
afterAll(engines.stop);

type Sent = Record<string, number>;

/** Counts every request that goes out, the SDK's own repetitions too, by its operation. */
function count(client: DynamoDBClient | SQSClient, sent: Sent): void {
  const tally =
    (next: (args: unknown) => Promise<unknown>, { commandName = "?" }: { commandName?: string }) =>
    (args: unknown) => {
      sent[commandName] = (sent[commandName] ?? 0) + 1;
      return next(args);
    };
  // Both clients' stacks take it; their union takes nothing.
  const stack = client.middlewareStack as { add(middleware: typeof tally, at: object): void };
  stack.add(tally, { step: "finalizeRequest", priority: "low" });
}

/** A fresh container on tables and a queue of its own. */
async function aContainer(sent: Sent, of = config) {
  const where = engines.dynoxide ?? engines.dynalite;
  const dynamo = new DynamoDBClient(localClient(where));
  const sqs = new SQSClient({ ...localClient(engines.fauxqs), useQueueUrlAsEndpoint: false });
  count(dynamo, sent);
  count(sqs, sent);
  const [jobs, leases, queueUrl, parkedQueueUrl] = await Promise.all([
    createJobTable(where),
    createLeaseTable(where),
    createQueue(engines.fauxqs),
    createQueue(engines.fauxqs),
  ]);
  const world = {
    clock: systemClock,
    jobs: jobTableOn(dynamo, jobs, systemClock),
    leases: leaseTableOn(dynamo, leases),
    queue: queueOn(sqs, { queueUrl, parkedQueueUrl }),
    models: scriptedModels(systemClock, { latency: 50 }),
    objects: createMemoryObjects(),
    outbox: createMemoryOutbox(systemClock),
    announcer: createMemoryAnnouncer(),
    telemetry: { note: () => undefined },
  };
  return createMemoryWorker(world, of, "bulk");
}

const job = (jobId: string, facts: object = {}): Delivery => {
  const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  return a.delivery({
    messageId: jobId,
    receiptHandle: jobId,
    lane: "bulk",
    enqueuedAtMs: Date.now(),
    receivedAtMs: Date.now(),
    body: JSON.stringify({ jobId, model: "fast", op: "converse", params, ...facts }),
  });
};
const endsAtMs = () => Date.now() + 900_000;
const jobsOf = (prefix: string, many: number) => Array.from({ length: many }, (_, index) => job(`${prefix}-${index}`));

describe("on the happy path", () => {
  test("a job alone costs four requests to DynamoDB and one to SQS, beside the heads' one", async () => {
    const sent: Sent = {};
    const worker = await aContainer(sent);
    await processBatch(worker, jobsOf("first", 1), endsAtMs()); // makes the page of its ledger, once for ever
    for (const name of Object.keys(sent)) delete sent[name];
    await systemClock.sleep(freshMs); // the heads are read again

    expect(await processBatch(worker, jobsOf("second", 1), endsAtMs())).toEqual([]);
    expect(sent).toEqual({ UpdateItemCommand: 4, BatchGetItemCommand: 1, ChangeMessageVisibilityBatchCommand: 1 });
  });

  test.each([
    [4, "is on its only page", 32],
    [6, "has several", 33],
  ])("a job under a quota costs %i requests to DynamoDB where the ledger %s", async (requests, _where, max) => {
    const sent: Sent = {};
    const limited = { limit: { start: max, max }, tokensPerMinute: 6_000, requestsPerMinute: 6_000 };
    const targets = config.models["fast"]?.targets ?? {};
    const west = { ...targets["west"], ...limited } as TargetConfig;
    const worker = await aContainer(sent, { ...config, models: { ...config.models, fast: { targets: { west } } } });
    // One for each page: a job of the second page must not make it.
    await Promise.all([0, 1].map((page) => worker.world.leases.createPage({ ledger: "fast@west", page })));
    await processBatch(worker, jobsOf("first", 1), endsAtMs());
    const aheadMs = async () => ((await worker.world.leases.readClocks("fast@west")).tokensAtMs ?? 0) - Date.now();
    for (const name of ["while-it-is-ahead", "when-it-is-past"]) {
      if (name === "when-it-is-past") await systemClock.sleep(Math.max(0, await aheadMs()) + 10);
      delete sent["UpdateItemCommand"];
      expect(await processBatch(worker, jobsOf(name, 1), endsAtMs())).toEqual([]);
      expect(sent["UpdateItemCommand"]).toBe(requests);
    }
  });

  test("a job that somebody waits for costs one request to DynamoDB more, beside the telling", async () => {
    const sent: Sent = {};
    const queueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/done";
    const replies = { ...config.replies, allow: { ...config.replies.allow, sqs: [queueUrl] } };
    const worker = await aContainer(sent, { ...config, replies });
    await processBatch(worker, jobsOf("first", 1), endsAtMs());
    delete sent["UpdateItemCommand"];
    expect(await processBatch(worker, [job("told", { replyTo: { sqs: queueUrl } })], endsAtMs())).toEqual([]);
    expect(sent["UpdateItemCommand"]).toBe(5);
  });

  test("an invocation whose lane has a budget costs one request to DynamoDB more, and its board none", async () => {
    const sent: Sent = {};
    const price = { inputPerMTok: 1, outputPerMTok: 1 };
    const targets = config.models["fast"]?.targets ?? {};
    const west = { ...targets["west"], price } as TargetConfig;
    const worker = await aContainer(sent, {
      ...config,
      models: { ...config.models, fast: { targets: { west } } },
      lanes: { ...config.lanes, bulk: { ...config.lanes.bulk, dailyBudgetUsd: 50 } },
    });
    await processBatch(worker, jobsOf("first", 1), endsAtMs());
    for (const name of Object.keys(sent)) delete sent[name];
    await systemClock.sleep(freshMs);

    expect(await processBatch(worker, jobsOf("second", 1), endsAtMs())).toEqual([]);
    expect(sent).toEqual({ UpdateItemCommand: 5, BatchGetItemCommand: 1, ChangeMessageVisibilityBatchCommand: 1 });
  });

  test("ten jobs of one batch cost no more than 3.1 each, and one to SQS for all", async () => {
    const sent: Sent = {};
    const worker = await aContainer(sent);
    await processBatch(worker, jobsOf("first", 1), endsAtMs());
    for (const name of Object.keys(sent)) delete sent[name];
    await systemClock.sleep(freshMs);

    expect(await processBatch(worker, jobsOf("ten", 10), endsAtMs())).toEqual([]);
    expect(sent["UpdateItemCommand"]).toBeLessThanOrEqual(31);
    expect(sent).toMatchObject({ BatchGetItemCommand: 1, ChangeMessageVisibilityBatchCommand: 1 });
    expect(Object.keys(sent)).toHaveLength(3);
  });

  test("ten jobs of one batch, all as fast, share one take and one return", async () => {
    const verbs: Sent = {};
    const tally = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get(target, verb, receiver) {
          const value: unknown = Reflect.get(target, verb, receiver);
          if (typeof value !== "function") return value;
          return (...args: unknown[]): unknown => {
            verbs[String(verb)] = (verbs[String(verb)] ?? 0) + 1;
            return Reflect.apply(value, target, args);
          };
        },
      });
    const service = aService({
      lane: "bulk",
      script: { latency: 1_000 },
      around: (world) => ({
        ...world,
        jobs: tally(world.jobs),
        leases: tally(world.leases),
        queue: tally(world.queue),
      }),
    });
    service.send({ jobId: "first" });
    await service.invoke();
    await service.world.clock.advance(1_000);
    for (const name of Object.keys(verbs)) delete verbs[name];

    for (let jobs = 0; jobs < 10; jobs += 1) service.send({ jobId: `job-${jobs}` });
    expect(await service.invoke()).toEqual([]);
    expect(verbs).toEqual({ claim: 10, take: 1, giveBack: 1, complete: 10, readBoard: 1, hide: 1 });
  });
});
