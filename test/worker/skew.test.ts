/** Two versions of the config at work: what one of them allows, the other may not know. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { aService, config, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const replies = "https://sqs.us-west-2.amazonaws.com/123456789012/replies";
const allowing = checkConfig({
  ...config,
  replies: { ...config.replies, allow: { sqs: [replies] } },
  paramsRef: { buckets: ["prompts", "letters"] },
});
const throttledOnce = { rules: [{ when: { toMs: 1_000 }, do: { kind: "fail", error: "throttled" } }] } as const;

/** Waits until the message comes again, and has this worker take it. */
async function next(service: Service, worker = service.worker): Promise<void> {
  const { clock, queue } = service.world;
  await clock.advance(Math.max(0, (queue.nextVisibleAtMs() ?? 0) - clock.nowMs()));
  await service.invoke({ worker });
}

describe("a job that has begun, and comes to a worker whose config does not allow it", () => {
  const asks: [what: string, job: JsonObject][] = [
    ["where its reply is to go", { replyTo: { sqs: replies } }],
    ["the bucket of its params", { params: undefined, paramsRef: "s3://letters/a" }],
  ];
  const begun = async (job: JsonObject) => {
    const service = aService({ config: allowing, script: { ...throttledOnce, rules: [...throttledOnce.rules] } });
    service.world.objects.put("letters", "a", JSON.stringify({ messages: [] }));
    service.send(job);
    await service.invoke();
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "queued", requeues: 1 });
    return { service, old: createMemoryWorker(service.world, config, "bg") };
  };

  test.each(asks)("for %s, waits for one that does", async (_what, job) => {
    const { service, old } = await begun(job);
    await next(service, old);
    expect(service.world.queue.parked).toEqual([]);
    expect(service.reply()).toBeUndefined();
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test.each(asks)("for %s, is told so in the end where no other comes", async (_what, job) => {
    const { service, old } = await begun(job);
    for (let tries = 0; tries < 25 && service.reply() === undefined; tries += 1) await next(service, old);
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "invalid_envelope" } });
    expect(service.world.queue.parked).toEqual([]);
  });

  test("and has other content, is parked as what it is: another job under the same id", async () => {
    const { service, old } = await begun({ params: undefined, paramsRef: "s3://letters/a" });
    service.send({ params: undefined, paramsRef: "s3://letters/b" });
    await service.invoke({ worker: old });
    expect(service.world.queue.parked).toMatchObject([{ reason: "job_id_reused" }]);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("that has its reply already is acknowledged", async () => {
    const { service, old } = await begun({ replyTo: { sqs: replies } });
    await service.drain();
    service.send({ replyTo: { sqs: replies } });
    expect(await service.invoke({ worker: old })).toEqual([]);
    expect(service.world.queue.parked).toEqual([]);
  });
});

test("a job that nobody has begun is told at once what is not allowed", async () => {
  const service = aService();
  service.send({ replyTo: { sqs: replies } });
  expect(await service.invoke()).toEqual([]);
  expect(service.reply()).toMatchObject({ ok: false, error: { code: "invalid_envelope" } });
});

describe("a copy with a destination of its own, which is not allowed", () => {
  test("is parked, and changes nothing for the job that has begun", async () => {
    const service = aService({ script: { ...throttledOnce, rules: [...throttledOnce.rules] } });
    service.send();
    await service.invoke();
    service.send({ replyTo: { sqs: replies } });
    await service.invoke();
    expect(service.world.queue.parked).toMatchObject([{ reason: "invalid_envelope" }]);
    expect(service.world.jobs.rows()[0]).not.toHaveProperty("replyTo");
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });
});

test("who waits is owed the reply where the worker that has it to tell does not know him", async () => {
  const around = (world: MemoryWorld): World => ({
    ...world,
    announcer: { ...world.announcer, announce: () => Promise.reject(new Error("down")) },
    jobs: { ...world.jobs, deferAnnouncement: () => Promise.reject(new Error("down")) },
  });
  const service = aService({ config: allowing, around });
  service.send({ replyTo: { sqs: replies } });
  await service.invoke(); // stored, and neither told nor owed: the message comes again
  expect(service.reply()).toMatchObject({ ok: true });
  const { jobs } = service.world;
  jobs.put({ ...service.world.jobs.rows()[0], jobId: "j-1", replyTo: { kind: "sqs", queueUrl: replies } });
  await next(service, createMemoryWorker(service.world, config, "bg"));
  expect(service.world.jobs.rows()[0]?.unannounced).toHaveLength(1);
});

describe("a message that points to a bucket which the worker may not read", () => {
  const pointer = JSON.stringify([
    "software.amazon.payloadoffloading.PayloadS3Pointer",
    { s3BucketName: "letters", s3Key: "job" },
  ]);
  const sent = () => {
    const service = aService({ config: allowing });
    const envelope = { jobId: "j-1", model: "fast", op: "converse", params: { messages: [] } };
    service.world.objects.put("letters", "job", JSON.stringify(envelope));
    service.world.queue.send(pointer);
    return { service, old: createMemoryWorker(service.world, config, "bg") };
  };

  test("waits for one that may", async () => {
    const { service, old } = sent();
    await next(service, old);
    expect(service.world.queue.parked).toEqual([]);
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is a dead letter when none has come, and parked from there with the reason", async () => {
    const { service, old } = sent();
    for (let receives = 1; receives <= 20; receives += 1) await next(service, old);
    expect(service.world.queue.parked).toEqual([]);
    const { clock, queue } = service.world;
    await clock.advance(120_000);
    const dead = queue.receive(1).map((record) => deliveryOf(record, "bg", clock.nowMs()));
    expect(await passing(clock, processDeadLetters(old, dead, clock.nowMs() + 60_000))).toEqual([]);
    expect(queue.parked).toMatchObject([{ body: pointer, reason: "not_an_envelope" }]);
  });
});
