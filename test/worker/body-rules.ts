/** What becomes of bodies, whatever they are, in one batch with good ones. */
import { fc } from "@fast-check/vitest";
import { expect } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import type { Read } from "../../lib/core/envelope.ts";
import { readBody, readObject } from "../../lib/core/feeds.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import { anyBody, damagedEnvelope, secret, write } from "../core/a-body.ts";
import { breachIn } from "../core/body-rules.ts";
import { aService, config as calm, passing } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const lane = "bulk";
const neighbours = ["good-1", "good-2"] as const;

/** Where the samples point to. */
const places = [
  ["acme-prompts", "in/my file (2).json"],
  ["acme-big", "b1c2-key"],
  ["acme-big", "key"],
] as const;

const checked = checkConfig({
  models: calm.models,
  operations: { summarise: { limitMax: 5 } },
  paramsRef: { buckets: [...new Set(places.map(([bucket]) => bucket))] },
});
const allow = { ...checked.replies.allow, sqs: ["https://sqs.example/1/q"], taskTokens: true };
const config: typeof checked = { ...checked, replies: { ...checked.replies, allow } };

const oneBody = fc.oneof(
  anyBody,
  damagedEnvelope.map((envelope) => known(write(envelope))),
);
export const bodiesMax = laneLimits[lane].batchSize - neighbours.length;

/** A batch, and what lies in S3. */
const batches = fc.record({
  bodies: fc.array(oneBody, { minLength: 1, maxLength: bodiesMax, size: "max" }).map((bodies) => bodies.map(spread)),
  objects: fc.tuple(...places.map(() => oneBody)),
});

/** Most samples are one job of one model; here they are a few jobs, of a model that there is. */
function spread(body: string, index: number): string {
  return body.replaceAll("order-8812-summary", `order-${index % 5}`).replaceAll("fast-text", "fast");
}

/** Else made-up names would keep most envelopes from running. */
function known(body: string): string {
  return body
    .replaceAll(/"model":"(?!\w+@|constructor|toString|__proto__|hasOwnProperty)[\w.-]+"/g, '"model":"fast"')
    .replaceAll(/"fallback":\["[^\]]*\]/g, '"fallback":["smart"]')
    .replaceAll(/"paramsRef":"s3:\/\/[^"]+"/g, '"paramsRef":"s3://acme-big/key"');
}

function readAll(body: string, stored: ReadonlyMap<string, string>): Read {
  const read = readBody(body);
  if (read.kind !== "pointer") return read;
  return readObject(stored.get(`${read.bucket}/${read.key}`) ?? "missing");
}

interface Batch {
  readonly bodies: readonly string[];
  readonly objects: readonly string[];
}

/** Whether a message may come so often that SQS gives it up: nobody here may read it, or its task's heart beats each second. */
function mayDie({ body }: { readonly body: string }): boolean {
  return readBody(body).kind === "pointer" || body.includes("heartbeatSeconds");
}

/** Throws where something goes amiss. */
export async function checkBatch({ bodies, objects }: Batch): Promise<void> {
  const service = aService({ lane, config });
  const { queue, objects: s3, noted } = service.world;
  const stored = new Map(places.map(([bucket, key], index) => [`${bucket}/${key}`, objects[index] ?? ""] as const));
  for (const [bucket, key] of places) s3.put(bucket, key, stored.get(`${bucket}/${key}`) ?? "");
  service.send({ jobId: neighbours[0] });
  const sent = bodies.map((body) => ({ body, messageId: queue.send(body) }));
  service.send({ jobId: neighbours[1] });
  await service.drain(1_000);

  const amiss = new Set<string>(["trouble", "reply-store-failed", "claim-lost", "bell", "lease-lost"]);
  expect(JSON.stringify(noted.filter(({ kind }) => amiss.has(kind)))).toBe("[]");

  const dead = queue.deadLetters.map(({ messageId, body }) =>
    deliveryOf({ messageId, receiptHandle: messageId, body }, lane, service.world.clock.nowMs()),
  );
  expect(dead.filter((message) => !mayDie(message))).toEqual([]);
  expect(
    await passing(service.world.clock, processDeadLetters(service.worker, dead, service.world.clock.nowMs() + 60_000)),
  ).toEqual([]);
  expect(new Set(queue.parked.map(({ messageId }) => messageId)).size).toBe(queue.parked.length);
  for (const { body, messageId } of sent) {
    const kept = queue.parked.find((message) => message.messageId === messageId);
    if (kept === undefined) expect(endOf(readAll(body, stored), service)).toBe("ended");
    else {
      expect(kept.body).toBe(body);
      if (kept.reason !== "dead_lettered") expect(kept.detail).toMatch(/^[\w.$?-]+: .{10,}/);
      expect(kept.detail).not.toContain(secret);
    }
  }
  for (const jobId of neighbours)
    expect(service.reply(jobId)).toMatchObject({ status: "succeeded", meta: { deliveries: 1 } });

  expect(JSON.stringify(noted)).not.toContain(secret);
}

/** Of a message that was not parked. */
function endOf(read: Read, service: Service): string {
  switch (read.kind) {
    case "ignore":
      return "ended";
    case "refused":
    case "pointer":
      return `${read.kind} and lost`;
    case "envelope":
    case "invalid": {
      const jobId = read.kind === "envelope" ? read.envelope.jobId : read.jobId;
      const reply = service.reply(jobId);
      if (reply === undefined) return "unanswered";
      const error = reply.ok ? undefined : reply.error;
      return error?.code === "internal_error" || error?.message.includes(secret) === true ? error.message : "ended";
    }
  }
}

/** What goes amiss in so many batches; undefined: nothing. */
export async function amissIn(numRuns: number): Promise<string | undefined> {
  return breachIn(await fc.check(fc.asyncProperty(batches, checkBatch), { numRuns }));
}
