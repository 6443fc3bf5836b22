/** Two versions of the config at work: what one of them allows, the other may not know. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { readReceivesMax } from "../../lib/core/limits.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { aService, config } from "./a-service.ts";
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

  test("is parked with the reason when none has come", async () => {
    const { service, old } = sent();
    for (let receives = 1; receives < readReceivesMax; receives += 1) await next(service, old);
    expect(service.world.queue.parked).toEqual([]);
    await next(service, old);
    expect(service.world.queue.parked).toMatchObject([{ body: pointer, reason: "not_an_envelope" }]);
  });
});
