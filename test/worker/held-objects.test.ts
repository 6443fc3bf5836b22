import { describe, expect, test } from "vitest";
import { objectsHeldBytesMax } from "../../lib/core/limits.ts";
import type { Delivery } from "../../lib/core/job.ts";
import { createMemoryObjects } from "../../lib/memory/objects.ts";
import { HeldObjects } from "../../lib/worker/held-objects.ts";
import { a } from "../a.ts";
import { aService } from "./a-service.ts";

const bucket = "prompts";
const job = { model: "fast", op: "converse" };
const params = { messages: [{ role: "user", content: [{ text: "What is on this picture?" }] }] };

/** How a message says where in S3 it goes on. */
type Way = (key: string) => { readonly object: unknown; readonly message: unknown };

const ways = {
  "whose params are in S3": (key: string) => ({
    object: params,
    message: { ...job, jobId: key, paramsRef: `s3://${bucket}/${key}` },
  }),
  "whose envelope is in S3": (key: string) => ({
    object: { ...job, jobId: key, params },
    message: ["software.amazon.payloadoffloading.PayloadS3Pointer", { s3BucketName: bucket, s3Key: key }],
  }),
} satisfies Readonly<Record<string, Way>>;
const everyWay: readonly [says: string, way: Way][] = Object.entries(ways);

/** A lane whose objects are so big, without anybody having to write them; Bedrock takes three seconds. */
function picturesOf(bytes: number) {
  let hangs = false;
  let readMs = 0;
  const service = aService({
    script: { latency: 3_000 },
    around: (world) => ({
      ...world,
      objects: {
        ...world.objects,
        async get(where, key, fits = () => true) {
          if (readMs > 0) await world.clock.sleep(readMs);
          const read = await world.objects.get(where, key, (small) => fits(key.startsWith("small") ? small : bytes));
          return hangs ? new Promise<never>(() => undefined) : read;
        },
      },
    }),
  });
  const send = (key: string, way: Way = ways["whose envelope is in S3"]) => {
    const { object, message } = way(key);
    service.world.objects.put(bucket, key, JSON.stringify(object));
    service.world.queue.send(JSON.stringify(message));
  };
  const { play } = service.world.models;
  return {
    ...service,
    send,
    mostAtOnce: () => Math.max(...Object.values(play.record().targets).map(({ max }) => max)),
    callsOf: (key: string) => play.record().jobs[key]?.calls,
    setHanging: (now: boolean) => (hangs = now),
    setReadMs: (ms: number) => (readMs = ms),
  };
}

const names = Array.from({ length: 10 }, (_, index) => `picture-${index}`);

describe.each(everyWay)("ten big jobs of one batch, %s", (_says, way) => {
  test("are at work as many at once as a container can hold, and each is answered by one request", async () => {
    const service = picturesOf(objectsHeldBytesMax / 2);
    for (const name of names) service.send(name, way);
    await service.drain();
    expect(service.mostAtOnce()).toBe(2);
    for (const name of names) expect([service.reply(name)?.ok, service.callsOf(name)]).toEqual([true, 1]);
  });

  test("go one by one where each of them needs more than there is", async () => {
    const service = picturesOf(objectsHeldBytesMax + 1);
    for (const name of names) service.send(name, way);
    await service.drain(100);
    expect(service.mostAtOnce()).toBe(1);
    for (const name of names) expect([service.reply(name)?.ok, service.callsOf(name)]).toEqual([true, 1]);
  });

  test("let small ones pass", async () => {
    const service = picturesOf(objectsHeldBytesMax - 1_000);
    for (const name of ["big-1", "big-2", "small-1", "small-2"]) service.send(name, way);
    expect(await service.invoke()).toHaveLength(1);
    expect(["big-1", "big-2", "small-1", "small-2"].filter((name) => service.reply(name)?.ok)).toHaveLength(3);
  });

  test("are handed back for want of memory, and come again in 5 to 15 seconds", async () => {
    const service = picturesOf(objectsHeldBytesMax);
    service.send("before", way);
    service.send("behind", way);
    expect(await service.invoke()).toHaveLength(1);
    const delayS = service.world.noted.flatMap((event) =>
      (event.kind === "hidden" && event.why === "memory") || (event.kind === "requeued" && event.cause === "memory")
        ? [event.delayS]
        : [],
    );
    expect(delayS).toEqual([expect.any(Number)]);
    expect(delayS[0]).toBeGreaterThanOrEqual(5);
    expect(delayS[0]).toBeLessThanOrEqual(15);
  });
});

test("what is read only after its invocation has ended is not held, for nobody would let it go", async () => {
  const service = picturesOf(objectsHeldBytesMax);
  service.setReadMs(91_000);
  service.send("late", ways["whose params are in S3"]);
  expect(await service.invoke({ timeoutMs: 90_000 })).toHaveLength(1);
  await service.world.clock.advance(3_000);
  service.setReadMs(0);
  service.send("next");
  expect(await service.invoke()).toEqual([]);
  expect(service.reply("next")?.ok).toBe(true);
});

test("a record has room for its envelope and its params, if nobody else holds any", async () => {
  const objects = createMemoryObjects("outputs", objectsHeldBytesMax);
  const held = new HeldObjects({
    get: (where, key, fits = () => true) => objects.get(where, key, () => fits(Number(key))),
  });
  for (const key of ["20", "30"]) objects.put(bucket, String(Number(key) * 2 ** 20), "{}");
  const [one, other] = [a.delivery({ messageId: "one" }), a.delivery({ messageId: "other" })];
  const get = async (of: Delivery, megabytes: number) =>
    (await held.get(of, { bucket, key: String(megabytes * 2 ** 20) })).kind;
  expect([await get(one, 20), await get(one, 30), await get(other, 20)]).toEqual(["found", "found", "no-room"]);
  held.letGo(one);
  expect([await get(other, 20), await get(one, 20)]).toEqual(["found", "no-room"]);
});

test("what hung when its invocation ended is held no longer", async () => {
  const service = picturesOf(objectsHeldBytesMax);
  service.setHanging(true);
  service.send("hung");
  expect(await service.invoke()).toHaveLength(1);
  service.setHanging(false);
  service.send("next");
  expect(await service.invoke()).toEqual([]);
  expect(service.reply("next")?.ok).toBe(true);
});
