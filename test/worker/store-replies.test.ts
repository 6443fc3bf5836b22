import { describe, expect, test } from "vitest";
import { encodeUnstored } from "../../lib/core/outbox.ts";
import type { UnstoredReply } from "../../lib/core/outbox.ts";
import { replyOf, replyText } from "../../lib/core/reply.ts";
import { createMemoryWorld } from "../../lib/memory/world.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import type { ReplyStore } from "../../lib/worker/store-replies.ts";
import { a, t0 } from "../a.ts";
import { config, passing } from "./a-service.ts";

const down = () => Promise.reject(Object.assign(new Error("down"), { name: "TimeoutError" }));

function unstored(facts: Partial<UnstoredReply> = {}, output: object = { text: "Hello Ada" }): UnstoredReply {
  const jobId = facts.jobId ?? "j-1";
  const reply = replyOf({ jobId, metadata: {} }, { kind: "succeeded", output: { ...output } }, a.meta({ totalMs: 9 }));
  const base = { jobId, contentHash: "h-1", lane: "bg", status: "succeeded", progress: a.row() } as const;
  return { ...base, reply: replyText(reply), ...facts };
}

/** A reply-store on the World in memory; `around` replaces verbs of it. */
function aStore(around: (store: ReplyStore["world"]) => Partial<ReplyStore["world"]> = () => ({})) {
  const world = createMemoryWorld({ startMs: t0, lane: "bg" });
  const seen = { ...world, queue: world.outbox.queue };
  const store: ReplyStore = { config, world: { ...seen, ...around(seen) } };
  return {
    world,
    queue: world.outbox.queue,
    send: (message: UnstoredReply) => world.outbox.send(encodeUnstored(message)),
    /** One invocation with all that is visible; answers the bodies that come again. */
    async invoke(timeoutMs = 30_000) {
      const received = world.outbox.queue.receive();
      const again = await passing(world.clock, storeReplies(store, received, world.clock.nowMs() + timeoutMs));
      const comes = (messageId: string) => again.includes(messageId);
      for (const { messageId, receiptHandle } of received)
        if (!comes(messageId)) world.outbox.queue.delete(receiptHandle);
      return received.filter(({ messageId }) => comes(messageId)).map(({ body }) => body);
    },
  };
}

const rowOf = ({ world }: ReturnType<typeof aStore>, jobId = "j-1") => world.jobs.read(jobId);
const kinds = ({ world }: ReturnType<typeof aStore>) => world.noted.map(({ kind }) => kind);

describe("the reply-store", () => {
  test("stores a reply, tells how the job ended, and lets its message go", async () => {
    const store = aStore();
    await store.send(unstored());
    expect(await store.invoke()).toEqual([]);
    expect(await rowOf(store)).toMatchObject({ state: "ended", contentHash: "h-1", stage: "succeeded" });
    expect(store.world.noted).toMatchObject([
      { kind: "replied", jobId: "j-1", lane: "bg", status: "succeeded", totalMs: 9 },
    ]);
  });

  test("leaves the reply that stands, and lets the message go", async () => {
    const store = aStore();
    await store.send(unstored());
    await store.send(unstored({}, { text: "Good morning" }));
    expect(await store.invoke()).toEqual([]);
    expect((await rowOf(store))?.reply).toContain("Hello Ada");
    expect(kinds(store)).toEqual(["replied", "duplicate"]);
  });

  test("parks what is no reply and what is another job's, with the reason and no word of them", async () => {
    const store = aStore();
    await store.world.outbox.send('{"prompt":"secret"');
    await store.send(unstored());
    await store.send(unstored({ contentHash: "h-2" }, { text: "secret" }));
    expect(await store.invoke()).toEqual([]);
    expect(store.queue.parked).toMatchObject([
      { reason: "not_a_reply", detail: expect.stringMatching(/^body: cannot be read; only /) },
      { reason: "job_id_reused", detail: expect.stringContaining("jobId: "), jobId: "j-1", lane: "bg" },
    ]);
    expect(store.world.noted).toContainEqual(
      expect.objectContaining({ kind: "parked", jobId: "j-1", lane: "bg", reason: "job_id_reused" }),
    );
    expect(JSON.stringify(store.world.noted)).not.toContain("secret");
    expect((await rowOf(store))?.reply).toContain("Hello Ada");
  });

  test("tries again in 5 s what cannot be stored, parked or read, each by itself", async () => {
    const store = aStore((world) => ({
      jobs: { ...world.jobs, storeReply: (id, ask) => (id === "j-1" ? down() : world.jobs.storeReply(id, ask)) },
      queue: { ...world.queue, park: down },
    }));
    store.world.jobs.put({ jobId: "j-3", format: 2, state: "queued" });
    await store.world.outbox.send("torn");
    for (const jobId of ["j-1", "j-2", "j-3"]) await store.send(unstored({ jobId }));
    expect(await store.invoke()).toHaveLength(3);
    expect(store.queue.nextVisibleAtMs()).toBe(t0 + 5_000);
    expect(await rowOf(store, "j-2")).toMatchObject({ state: "ended" });
    expect((await rowOf(store, "j-3"))?.reply).toBeUndefined();
  });

  test("puts a big output into S3 first, and the whole into the row while S3 is away", async () => {
    const output = { text: "ü".repeat(config.replies.inlineBytesMax / 2) };
    const [store, without] = [aStore(), aStore((world) => ({ objects: { ...world.objects, putOutput: down } }))];
    for (const each of [store, without]) {
      await each.send(unstored({}, output));
      expect(await each.invoke()).toEqual([]);
    }
    expect(JSON.parse((await rowOf(store))?.reply ?? "")).toMatchObject({ outputRef: expect.stringMatching(/^s3:/) });
    expect(JSON.parse((await rowOf(without))?.reply ?? "")).toMatchObject({ output });
  });

  test("keeps a big reply without an output as it is", async () => {
    const message = "a".repeat(config.replies.inlineBytesMax);
    const reply = JSON.stringify({ jobId: "j-1", status: "failed", error: { message }, meta: a.meta() });
    const store = aStore();
    await store.send(unstored({ status: "failed", reply }));
    expect(await store.invoke()).toEqual([]);
    expect(JSON.parse((await rowOf(store))?.reply ?? "")).toEqual(JSON.parse(reply));
  });

  test("reads a message once that came twice in a batch", async () => {
    const { queue, send, world } = aStore();
    await send(unstored());
    const [record] = queue.receive();
    if (record === undefined) throw new Error("nothing was received");
    const store = { config, world: { ...world, queue } };
    await passing(world.clock, storeReplies(store, [record, record], world.clock.nowMs() + 30_000));
    expect(world.noted.map(({ kind }) => kind)).toEqual(["replied"]);
  });

  test("answers before its end though a request never does, and hides what is left", async () => {
    const store = aStore((world) => ({
      jobs: { ...world.jobs, storeReply: (id, ask) => (id === "j-1" ? hang() : world.jobs.storeReply(id, ask)) },
    }));
    for (const jobId of ["j-1", "j-2"]) await store.send(unstored({ jobId }));
    expect(await store.invoke()).toHaveLength(1);
    expect(store.world.clock.nowMs() - t0).toBe(29_000);
    expect(store.queue.nextVisibleAtMs()).toBe(t0 + 30_000);
    expect(await rowOf(store, "j-2")).toMatchObject({ state: "ended" });
    expect(store.world.clock.nextAtMs()).toBeUndefined();
  });

  test("goes by the queue's own visibility when nothing can be hidden", async () => {
    const store = aStore((world) => ({
      jobs: { ...world.jobs, storeReply: down },
      queue: { ...world.queue, hide: down },
    }));
    await store.send(unstored());
    expect(await store.invoke()).toHaveLength(1);
    expect(store.queue.nextVisibleAtMs()).toBe(t0 + 180_000);
  });
});

function hang(): Promise<never> {
  return new Promise(() => undefined);
}
