import { describe, expect, test } from "vitest";
import { objectsHeldBytesMax } from "../../lib/core/limits.ts";
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
  const service = aService({
    script: { latency: 3_000 },
    around: (world) => ({
      ...world,
      objects: {
        ...world.objects,
        async get(where, key, fits = () => true) {
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
