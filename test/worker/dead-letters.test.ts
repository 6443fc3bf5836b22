import { describe, expect, test } from "vitest";
import { readBody } from "../../lib/core/feeds.ts";
import { contentOf as contentIn } from "../../lib/core/job.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { announceRetryMs, claimGraceMs, holdMs } from "../../lib/core/limits.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { World } from "../../lib/ports.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import { a } from "../a.ts";
import { aService, config as quiet, frail, passing } from "./a-service.ts";

const done = "https://sqs.us-west-2.amazonaws.com/1/done";
const config = { ...quiet, replies: { ...quiet.replies, allow: { ...quiet.replies.allow, sqs: [done] } } };
const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
const bodyOf = (job: JsonObject = {}) =>
  JSON.stringify({ jobId: "j-1", model: "fast", op: "converse", params, ...job });
const throttled: ScriptText = {
  rules: [{ when: {}, do: { kind: "fail", error: "throttled", retryAfter: "600" } }],
};

/** The memory's worker names a content by itself. */
function contentOf(): string {
  const read = readBody(bodyOf());
  return read.kind === "envelope" ? contentIn(read.envelope) : "";
}

/** A lane whose queue has given up every message that it is sent; `down` fails verbs for as long as they are in it. */
function aGrave({ script = {}, receives = 200 }: { readonly script?: ScriptText; readonly receives?: number } = {}) {
  const down = new Set<string>();
  const service = aService({ script, config, around: (world) => failing(world, down) });
  const { world } = service;
  const worker = createMemoryWorker(failing(world, down), config, "bg");
  return {
    world,
    down,
    /** The lane's own worker, while the message still came by its queue. */
    service,
    send: (job?: JsonObject | string) => world.queue.send(typeof job === "string" ? job : bodyOf(job)),
    /** One invocation with what is visible; answers how many messages come again. */
    async bury(timeoutMs = 60_000) {
      const { clock, queue } = world;
      const received = queue.receive();
      const records = received.map((record) => ({ ...deliveryOf(record, "bg", clock.nowMs()), receives }));
      const again = await passing(clock, processDeadLetters(worker, records, clock.nowMs() + timeoutMs));
      for (const { messageId, receiptHandle } of received) if (!again.includes(messageId)) queue.delete(receiptHandle);
      return again.length;
    },
    async passToTheNext() {
      await world.clock.advance((world.queue.nextVisibleAtMs() ?? 0) - world.clock.nowMs());
    },
    reply: (jobId?: string) => service.reply(jobId),
    asked: () => world.models.play.record().calls.length,
  };
}

function failing(world: MemoryWorld, down: ReadonlySet<string>): World {
  const isDown = (verb: string) => down.has(verb);
  const { jobs, queue, announcer } = world;
  return {
    ...world,
    jobs: frail(jobs, isDown),
    queue: frail(queue, isDown),
    announcer: frail(announcer, isDown),
  };
}

describe("a message that SQS gave up", () => {
  test("ends its job with dead_lettered, is parked with where it was, and goes, without a request to Bedrock", async () => {
    const grave = aGrave();
    const messageId = grave.send();
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({
      ok: false,
      status: "failed",
      error: { code: "dead_lettered", retryable: false },
    });
    expect(grave.reply()).toMatchObject({ meta: { deliveries: 200, attempts: 0 } });
    expect(grave.world.queue.parked).toEqual([
      {
        messageId,
        body: bodyOf(),
        reason: "dead_lettered",
        detail: "last at queued, received 200 times",
        lane: "bg",
        jobId: "j-1",
      },
    ]);
    expect(grave.world.noted).toContainEqual({
      kind: "parked",
      jobId: "j-1",
      messageId,
      lane: "bg",
      reason: "dead_lettered",
    });
    expect(grave.world.queue.depth()).toEqual({ visible: 0, hidden: 0 });
    expect(grave.world.clock.nextAtMs()).toBeUndefined();
    expect(grave.asked()).toBe(0);
  });

  test("says where its last delivery left it, and what it had cost", async () => {
    const grave = aGrave({ script: throttled });
    grave.send();
    await grave.service.invoke();
    const asked = grave.asked();
    expect(asked).toBeGreaterThan(0);
    await grave.passToTheNext();
    await grave.bury();
    expect(grave.reply()).toMatchObject({ meta: { attempts: asked } });
    expect(grave.reply()).toMatchObject({ error: { message: expect.stringContaining("last at requeued until") } });
    expect(grave.world.queue.parked).toMatchObject([
      { detail: expect.stringMatching(/^last at requeued until .* on smart@west, received 200 times$/) },
    ]);
  });

  test("ends a job whose requeue's delay has not passed: nobody will run it when it has", async () => {
    const grave = aGrave({ script: throttled });
    grave.send();
    await grave.service.invoke();
    grave.send();
    const row = await grave.world.jobs.read("j-1");
    expect(row?.notBeforeMs).toBeGreaterThan(grave.world.clock.nowMs());
    await grave.world.clock.advance(1);
    await grave.bury();
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
  });

  test("of a job past its deadline, or of one that killed five workers, says the same", async () => {
    const grave = aGrave();
    grave.send({ jobId: "late", deadlineAt: grave.world.clock.nowMs() + 1_000 });
    await grave.world.clock.advance(60_000);
    grave.send({ jobId: "poison" });
    grave.world.jobs.put(a.row({ jobId: "poison", fence: 6, heldUntilMs: 0, contentHash: contentOf() }));
    await grave.bury();
    expect(grave.reply("late")).toMatchObject({ status: "failed", error: { code: "dead_lettered" } });
    expect(grave.reply("poison")).toMatchObject({ status: "failed", error: { code: "dead_lettered" } });
    expect(grave.world.queue.parked).toHaveLength(2);
  });

  test("tells whoever waits", async () => {
    const grave = aGrave();
    grave.send({ replyTo: { sqs: done } });
    await grave.bury();
    expect(grave.world.announcer.sent).toMatchObject([
      { to: { queueUrl: done }, reply: expect.stringContaining("dead_lettered") },
    ]);
  });
});

describe("a dead letter whose job", () => {
  test("has its reply goes, and is parked nowhere", async () => {
    const grave = aGrave();
    grave.send();
    await grave.service.invoke();
    grave.send();
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({ ok: true });
    expect(grave.world.queue.parked).toEqual([]);
  });

  test("has its reply still tells the one who waits by this message", async () => {
    const grave = aGrave();
    grave.send();
    await grave.service.invoke();
    grave.send({ replyTo: { sqs: done } });
    await grave.bury();
    expect(grave.world.announcer.sent).toMatchObject([{ reply: expect.stringContaining('"ok":true') }]);
  });

  test("was cancelled while it ran gets the reply cancelled, and is parked nowhere", async () => {
    const grave = aGrave();
    await grave.world.jobs.claim(a.claimAsk({ jobId: "j-1", contentHash: contentOf() }));
    await grave.world.jobs.askCancel("j-1", 1);
    await grave.world.clock.advance(holdMs + claimGraceMs + 1);
    grave.send();
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({ status: "cancelled" });
    expect(grave.world.queue.parked).toEqual([]);
  });

  test("was cancelled is parked nowhere either when that reply must go by the replies queue", async () => {
    const grave = aGrave();
    await grave.world.jobs.claim(a.claimAsk({ jobId: "j-1", contentHash: contentOf() }));
    await grave.world.jobs.askCancel("j-1", 1);
    await grave.world.clock.advance(holdMs + claimGraceMs + 1);
    grave.send();
    grave.down.add("complete");
    expect(await grave.bury()).toBe(0);
    expect(grave.world.outbox.queue.depth().visible).toBe(1);
    expect(grave.world.queue.parked).toEqual([]);
  });

  test("another worker holds is hidden until that claim has lapsed, however many receives it has had", async () => {
    const grave = aGrave({ receives: 10_000 });
    await grave.world.jobs.claim(a.claimAsk({ jobId: "j-1", contentHash: contentOf() }));
    grave.send();
    expect(await grave.bury()).toBe(1);
    const hiddenMs = (grave.world.queue.nextVisibleAtMs() ?? 0) - grave.world.clock.nowMs();
    expect(hiddenMs).toBeGreaterThanOrEqual(holdMs + claimGraceMs);
    expect(hiddenMs).toBeLessThanOrEqual(holdMs + 2 * claimGraceMs + 1_000);
    await grave.passToTheNext();
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
  });

  test("is another's by the same jobId is parked for that", async () => {
    const grave = aGrave();
    grave.send();
    await grave.service.invoke();
    grave.send({ op: "converse_stream" });
    await grave.bury();
    expect(grave.world.queue.parked).toMatchObject([{ reason: "job_id_reused", jobId: "j-1", lane: "bg" }]);
    expect(grave.reply()).toMatchObject({ ok: true });
  });

  test("was written by a newer version waits for it", async () => {
    const grave = aGrave();
    grave.world.jobs.put({ jobId: "j-1", format: 99 });
    grave.send();
    expect(await grave.bury()).toBe(1);
    expect(grave.reply()).toBeUndefined();
  });

  test("names a model that nobody knows is ended like any other", async () => {
    const grave = aGrave();
    grave.send({ model: "no-such" });
    await grave.bury();
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
  });
});

describe("a dead letter that is no good envelope", () => {
  test("is parked with the reason", async () => {
    const grave = aGrave();
    grave.send("no envelope");
    expect(await grave.bury()).toBe(0);
    expect(grave.world.queue.parked).toMatchObject([{ reason: "not_an_envelope", lane: "bg" }]);
  });

  test("but names its job is answered for its fault", async () => {
    const grave = aGrave();
    grave.send({ lan: "rt" });
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({ error: { code: "invalid_envelope" } });
    expect(grave.world.queue.parked).toEqual([]);
  });

  test("changes nothing for the others of its batch", async () => {
    const grave = aGrave();
    grave.send("no envelope");
    grave.send();
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
  });
});

describe("when something below fails", () => {
  test.each([
    ["claim", 0, undefined],
    ["read", 0, "dead_lettered"],
    ["park", 0, "dead_lettered"],
  ])("%s, the message comes again, and ends as it should, parked once", async (verb, parked, code) => {
    const grave = aGrave();
    grave.send({ replyTo: { sqs: done } });
    grave.down.add(verb);
    expect(await grave.bury()).toBe(1);
    expect(grave.world.queue.parked).toHaveLength(parked);
    const reply = grave.reply();
    expect(reply?.ok === false ? reply.error.code : undefined).toBe(code);
    grave.down.clear();
    await grave.passToTheNext();
    expect(await grave.bury()).toBe(0);
    expect(grave.world.queue.parked).toMatchObject([{ reason: "dead_lettered" }]);
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
    expect(grave.world.announcer.sent).toHaveLength(1);
  });

  test("the job table alone, the reply goes by the replies queue, and the message is parked", async () => {
    const grave = aGrave();
    grave.send();
    grave.down.add("complete");
    expect(await grave.bury()).toBe(0);
    expect(grave.reply()).toBeUndefined();
    expect(grave.world.queue.parked).toMatchObject([{ reason: "dead_lettered" }]);
    const { queue } = grave.world.outbox;
    const { clock } = grave.world;
    const store = { config, world: { ...grave.world, queue } };
    expect(await passing(clock, storeReplies(store, queue.receive(), clock.nowMs() + 30_000))).toEqual([]);
    expect(grave.reply()).toMatchObject({ error: { code: "dead_lettered" } });
  });

  test("an announcement is the sweeper's to repeat, and the message is parked", async () => {
    const grave = aGrave();
    grave.send({ replyTo: { sqs: done } });
    grave.down.add("announce");
    expect(await grave.bury()).toBe(0);
    expect(grave.world.queue.parked).toHaveLength(1);
    const sweepAtMs = grave.world.clock.nowMs() + announceRetryMs;
    expect(await grave.world.jobs.read("j-1")).toMatchObject({ unannounced: [{ queueUrl: done }], sweepAtMs });
  });

  test("an announcement and its deferral, the message comes again before it is parked", async () => {
    const grave = aGrave();
    grave.send({ replyTo: { sqs: done } });
    grave.down.add("announce").add("deferAnnouncement");
    expect(await grave.bury()).toBe(1);
    await grave.passToTheNext();
    expect(await grave.bury()).toBe(1);
    expect(grave.world.queue.parked).toEqual([]);
    grave.down.clear();
    await grave.passToTheNext();
    expect(await grave.bury()).toBe(0);
    expect(grave.world.announcer.sent).toHaveLength(1);
    expect(grave.world.queue.parked).toHaveLength(1);
  });
});

test("a reply that was faster than the end of its dead letter stands, and the message is parked nowhere", async () => {
  const grave = aGrave();
  grave.send();
  const { jobs } = grave.world;
  const complete = jobs.complete.bind(jobs);
  Object.assign(jobs, {
    complete: async (...[claim, ask]: Parameters<typeof complete>) => {
      await jobs.storeReply("j-1", { ...ask, reply: '{"jobId":"j-1","ok":true}', contentHash: contentOf() });
      return complete(claim, ask);
    },
  });
  expect(await grave.bury()).toBe(0);
  expect(grave.reply()).toMatchObject({ ok: true });
  expect(grave.world.queue.parked).toEqual([]);
});
