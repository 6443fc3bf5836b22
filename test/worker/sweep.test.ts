import { describe, expect, test } from "vitest";
import {
  announceRetryMs,
  claimGraceMs,
  holdMs,
  sweepEveryMs,
  sweepLateMs,
  sweepUnreturnedLateMs,
} from "../../lib/core/limits.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { replyTtlS } from "../../lib/core/reply.ts";
import { sweepShardOf, sweepShards } from "../../lib/core/sweep.ts";
import { noProgress } from "../../lib/core/claim.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { createMemoryWorker, createMemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { sweep } from "../../lib/worker/sweep.ts";
import { a, t0 } from "../a.ts";
import { aService, config, frail, passing } from "./a-service.ts";

const queue: ReplyTo = { kind: "sqs", queueUrl: "https://sqs.us-west-2.amazonaws.com/1/done" };
const token: ReplyTo = { kind: "taskToken", token: "AAAA" };
const deadlineAtMs = t0 + 3_600_000;
const lateMs = deadlineAtMs + sweepLateMs;
/** A job that was handed back once, and is due from `lateMs` on. */
const waiting = (facts: Parameters<typeof a.row>[0] = {}) =>
  a.row({ state: "queued", givenBack: 1, notBeforeMs: t0 + 6_000, sweepAtMs: lateMs, ...facts });
const answered = (facts: Parameters<typeof a.row>[0] = {}) =>
  a.row({ state: "ended", reply: '{"ok":true}', unannounced: [queue], sweepAtMs: t0 + 1, ...facts });

/** A sweeper on the World in memory at a time; `down` fails verbs for the jobs that it names. */
function aSweeper(nowMs = lateMs + 1) {
  const world = createMemoryWorld({ startMs: nowMs, lane: "bg" });
  const down = new Map<string, RegExp>();
  const isDown = (verb: string, args: readonly unknown[]) => down.get(verb)?.test(JSON.stringify(args)) === true;
  const sweeper = {
    config,
    name: "sweeper-1",
    version: "7",
    world: { ...world, jobs: frail(world.jobs, isDown), announcer: frail(world.announcer, isDown) },
  };
  return {
    world,
    down,
    put: (row: Parameters<typeof world.jobs.put>[0]) => world.jobs.put(row),
    row: (jobId = "order-8812-summary") => world.jobs.read(jobId),
    reply: async (jobId = "order-8812-summary") => {
      const { reply } = (await world.jobs.read(jobId)) ?? {};
      return reply === undefined ? undefined : (JSON.parse(reply) as object);
    },
    sweep: async (timeoutMs = 120_000, around: Partial<World> = {}) => {
      const seen = { ...sweeper, world: { ...sweeper.world, ...around } };
      await passing(world.clock, sweep(seen, world.clock.nowMs() + timeoutMs));
      const last = world.noted.at(-1);
      return last?.kind === "swept" ? { due: last.due, ended: last.ended } : undefined;
    },
    kinds: () => world.noted.map(({ kind }) => kind),
  };
}

describe("a job whose message is gone", () => {
  test("is ended a quarter of an hour past its deadline, and says what became of its message", async () => {
    const { put, sweep: look, reply, row, world } = aSweeper();
    put(waiting({ requests: 3, attempts: 2, step: "fast-text@us-west-2", providerMs: 40 }));
    expect(await look()).toEqual({ due: 1, ended: 1 });
    expect(await reply()).toMatchObject({
      jobId: "order-8812-summary",
      ok: false,
      status: "expired",
      error: { code: "deadline_exceeded", message: expect.stringContaining("purged"), retryable: true },
      meta: { attempts: 3, deliveries: 1, providerMs: 40, model: "fast-text", worker: "sweeper-1", workerVersion: "7" },
    });
    expect(await row()).toMatchObject({ state: "ended", stage: "expired", fence: 2, attempts: 2 });
    expect(world.noted).toContainEqual(
      expect.objectContaining({ kind: "replied", code: "deadline_exceeded", lane: "bg" }),
    );
    expect(await look()).toEqual({ due: 0, ended: 0 });
  });

  test("is left until then", async () => {
    const { put, sweep: look, reply } = aSweeper(lateMs);
    put(waiting());
    expect(await look()).toEqual({ due: 0, ended: 0 });
    expect(await reply()).toBeUndefined();
  });

  test("is left while a worker holds it, and for a day after that claim has lapsed: its reply may be on its way", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(waiting({ state: "running", heldUntilMs: lateMs + holdMs }));
    expect(await look()).toEqual({ due: 1, ended: 0 });
    expect(await row()).toMatchObject({ state: "running", fence: 1, sweepAtMs: lateMs });
    await world.clock.advance(holdMs + claimGraceMs);
    expect(await look()).toEqual({ due: 1, ended: 0 });
    await world.clock.advance(sweepUnreturnedLateMs);
    expect(await look()).toEqual({ due: 1, ended: 1 });
  });

  test("and that was cancelled meanwhile gets the reply cancelled", async () => {
    const { put, sweep: look, reply } = aSweeper();
    put(waiting({ cancelAsked: true }));
    await look();
    expect(await reply()).toMatchObject({ status: "cancelled" });
  });

  test("is announced to whoever waits, and lets go of the index", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(waiting({ replyTo: queue }));
    await look();
    expect(world.announcer.sent).toMatchObject([{ to: queue, reply: expect.stringContaining("deadline_exceeded") }]);
    expect(await row()).toMatchObject({ announced: [queue], unannounced: [] });
    expect(await row()).not.toHaveProperty("sweepAtMs");
  });

  test("is owed to whoever waits from the reply on, even if the sweeper dies before it has told", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(waiting({ replyTo: queue }));
    await look(120_000, { announcer: { ...world.announcer, announce: () => new Promise(() => undefined) } });
    expect(await row()).toMatchObject({
      state: "ended",
      unannounced: [queue],
      sweepAtMs: lateMs + 1 + announceRetryMs,
    });
    await world.clock.advance(sweepEveryMs);
    await look();
    expect(world.announcer.sent).toHaveLength(1);
    expect(await row()).toMatchObject({ announced: [queue], unannounced: [] });
  });

  test("keeps its reply when the message comes after all", async () => {
    const service = aService({ script: { rules: [{ when: {}, do: { kind: "fail", error: "throttled" } }] } });
    service.send();
    await service.invoke();
    const { clock } = service.world;
    await clock.advance(3_600_000 + sweepLateMs + 1);
    const sweeper = { config, world: service.world, name: "sweeper-1", version: "7" };
    await passing(clock, sweep(sweeper, clock.nowMs() + 120_000));
    const before = service.reply();
    expect(before).toMatchObject({ error: { code: "deadline_exceeded" } });
    await service.drain();
    expect(service.reply()).toEqual(before);
    expect(service.world.queue.depth()).toEqual({ visible: 0, hidden: 0 });
  });
});

describe("a reply that nobody was told of", () => {
  test("is told, and lets go of the index", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(answered({ unannounced: [queue, token] }));
    expect(await look()).toEqual({ due: 1, ended: 0 });
    expect(world.announcer.sent).toEqual([
      { to: queue, reply: '{"ok":true}' },
      { to: token, reply: '{"ok":true}' },
    ]);
    expect(await row()).toMatchObject({ announced: [queue, token], unannounced: [], reply: '{"ok":true}' });
    expect(await row()).not.toHaveProperty("sweepAtMs");
  });

  test("because the job was cancelled and its message purged, is told too", async () => {
    const { put, sweep: look, world } = aSweeper();
    put(answered({ unannounced: [], replyTo: queue }));
    await look();
    expect(world.announcer.sent).toMatchObject([{ to: queue }]);
  });

  test("is told to each by itself: one that fails is tried again, ever later, and the others are not", async () => {
    const { down, put, sweep: look, row, world } = aSweeper(t0 + 2);
    put(answered({ unannounced: [queue, token], stageAtMs: t0 }));
    down.set("announce", /done/);
    const pauses: number[] = [];
    for (let sweeps = 0; sweeps < 4; sweeps += 1) {
      const nowMs = world.clock.nowMs();
      await look();
      const { sweepAtMs = 0 } = (await row()) ?? {};
      pauses.push((sweepAtMs - nowMs) / 60_000);
      await world.clock.advance(sweepAtMs - world.clock.nowMs());
      expect(await look()).toEqual({ due: 0, ended: 0 });
      await world.clock.advance(1);
    }
    expect(pauses).toEqual([5, 10, 20, 40]);
    expect(world.announcer.sent).toMatchObject([{ to: token }]);
    down.clear();
    await look();
    expect(world.announcer.sent).toMatchObject([{ to: token }, { to: queue }]);
    expect(await row()).not.toHaveProperty("sweepAtMs");
  });

  test("is given up, with a line in the log, when the row will have gone before the next try", async () => {
    const goneAtMs = replyTtlS(t0, config.replies.ttlDays) * 1_000;
    const { down, put, sweep: look, row, kinds } = aSweeper(goneAtMs - sweepEveryMs);
    put(answered({ stageAtMs: t0 }));
    down.set("announce", /./);
    await look();
    expect(kinds()).toContain("announcement-given-up");
    expect(await row()).toMatchObject({ unannounced: [queue] });
    expect(await row()).not.toHaveProperty("sweepAtMs");
  });

  test("that was told since costs no second announcement", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(answered({ unannounced: [], announced: [queue] }));
    await look();
    expect(world.announcer.sent).toEqual([]);
    expect(await row()).not.toHaveProperty("sweepAtMs");
  });

  test("is told again, and never lost, when its telling could not be noted", async () => {
    const { down, put, sweep: look, row, world } = aSweeper();
    put(answered());
    down.set("markAnnounced", /./);
    await look();
    expect(await row()).toMatchObject({ unannounced: [queue], sweeps: 1 });
    down.clear();
    await world.clock.advance(sweepEveryMs + 1);
    await look();
    expect(await row()).toMatchObject({ announced: [queue], unannounced: [] });
  });
});

describe("a sweep", () => {
  test("leaves a row of a newer version as it is", async () => {
    const { put, sweep: look, row } = aSweeper();
    put(waiting({ format: 99 }));
    const before = await row();
    expect(await look()).toEqual({ due: 1, ended: 0 });
    expect(await row()).toEqual(before);
  });

  test("believes the row, where the index is behind it", async () => {
    const { put, sweep: look, row, world } = aSweeper();
    put(waiting({ sweepAtMs: lateMs + 60_000 }));
    const readDue: World["jobs"]["readDue"] = async () => ({
      due: [
        { jobId: "order-8812-summary", sweepAtMs: lateMs },
        { jobId: "gone", sweepAtMs: lateMs },
      ],
      next: undefined,
    });
    await look(120_000, { jobs: { ...world.jobs, readDue } });
    expect(await row()).toMatchObject({ state: "queued", fence: 1 });
  });

  test.each(["read", "claim", "complete"])("goes on where one job's %s fails, and comes back to it", async (verb) => {
    const { down, put, sweep: look, reply, world } = aSweeper();
    const ids = Array.from({ length: 200 }, (_, index) => `job-${index}`);
    for (const jobId of ids) put(waiting({ jobId }));
    down.set(verb, /"job-7"/);
    expect(await look()).toEqual({ due: 200, ended: 199 });
    expect(await reply("job-7")).toBeUndefined();
    down.clear();
    await world.clock.advance(sweepEveryMs);
    expect(await look()).toEqual({ due: 1, ended: 1 });
  });

  test("goes on to the next shard where one cannot be read", async () => {
    const { down, put, sweep: look } = aSweeper();
    const ids = Array.from({ length: 40 }, (_, index) => `job-${index}`);
    for (const jobId of ids) put(waiting({ jobId }));
    down.set("readDue", /^\["3"/);
    expect((await look())?.ended).toBe(ids.filter((jobId) => sweepShardOf(jobId) !== "3").length);
  });

  test("begins with any shard: none is always the one that there was no time for", async () => {
    const { sweep: look, world } = aSweeper();
    const begun = new Set<string>();
    for (let sweeps = 0; sweeps < 100; sweeps += 1) {
      const shards: string[] = [];
      const readDue: World["jobs"]["readDue"] = async (shard) => {
        shards.push(shard);
        return { due: [], next: undefined };
      };
      await look(120_000, { jobs: { ...world.jobs, readDue } });
      expect(shards.toSorted()).toEqual(sweepShards.toSorted());
      begun.add(shards[0] ?? "");
    }
    expect(begun).toEqual(new Set(sweepShards));
  });

  test("ends before its invocation, whatever hangs", async () => {
    const { put, sweep: look, world } = aSweeper();
    for (let index = 0; index < 40; index += 1) put(waiting({ jobId: `job-${index}` }));
    const startedAtMs = world.clock.nowMs();
    const read = async () => new Promise<never>(() => undefined);
    await look(60_000, { jobs: { ...world.jobs, read } });
    expect(world.clock.nowMs() - startedAtMs).toBe(59_000);
    expect(world.clock.nextAtMs()).toBeUndefined();
  });

  test("begins no more of a page once the end is near", async () => {
    const { sweep: look, world } = aSweeper();
    const due = Array.from({ length: 100 }, (_, index) => ({ jobId: `job-${index}`, sweepAtMs: lateMs }));
    const readDue: World["jobs"]["readDue"] = async () => ({ due, next: undefined });
    const read = async () => {
      await world.clock.sleep(3_000);
      return undefined;
    };
    expect(await look(10_000, { jobs: { ...world.jobs, read, readDue } })).toEqual({ due: 20, ended: 0 });
  });

  test("begins nothing once the end is near", async () => {
    const { down, kinds, put, sweep: look } = aSweeper();
    put(waiting());
    down.set("readDue", /./);
    expect(await look(5_000)).toEqual({ due: 0, ended: 0 });
    expect(kinds()).toEqual(["swept"]);
  });

  test("and a worker's that race have one reply", async () => {
    const { put, sweep: look, reply, world } = aSweeper();
    put(waiting());
    const ask = a.claimAsk({ holder: "holder-2", nowMs: lateMs + 1, deadlineAtMs: lateMs + 9_000_000 });
    const claim: World["jobs"]["claim"] = async (mine) => {
      await world.jobs.claim(ask);
      return world.jobs.claim(mine);
    };
    expect(await look(120_000, { jobs: { ...world.jobs, claim } })).toEqual({ due: 1, ended: 0 });
    const holder = { jobId: "order-8812-summary", holder: "holder-2", fence: 2 };
    const end = { nowMs: lateMs, reply: '{"ok":true}', status: "succeeded", ttlS: 1, progress: noProgress };
    expect(await world.jobs.complete(holder, end)).toEqual({ kind: "stored" });
    expect(await reply()).toEqual({ ok: true });
  });
});

test("a reply that was faster than the sweeper's stands, and the sweeper says nothing of its own", async () => {
  const { kinds, put, reply, sweep: look, world } = aSweeper();
  put(waiting({ replyTo: queue }));
  const complete: World["jobs"]["complete"] = async (claim, ask) => {
    await world.jobs.storeReply(claim.jobId, { ...ask, reply: '{"ok":true}', contentHash: "h-1" });
    return world.jobs.complete(claim, ask);
  };
  expect(await look(120_000, { jobs: { ...world.jobs, complete } })).toEqual({ due: 1, ended: 0 });
  expect(await reply()).toEqual({ ok: true });
  expect(world.announcer.sent).toEqual([]);
  expect(kinds()).toEqual(["swept"]);
});

describe("a job that a worker handed back", () => {
  const throttled: ScriptText = { rules: [{ when: {}, do: { kind: "fail", error: "throttled" } }] };
  const allowing = {
    ...config,
    replies: { ...config.replies, allow: { ...config.replies.allow, sqs: [queue.queueUrl] } },
  };

  test("is known to the sweeper by its deadline, with whoever waits for it", async () => {
    const service = aService({ script: throttled, config: allowing });
    service.send({ replyTo: { sqs: queue.queueUrl } });
    await service.invoke();
    expect(await service.world.jobs.read("j-1")).toMatchObject({ sweepAtMs: lateMs, replyTo: queue });
  });

  test("because nobody knew its model is known to it too", async () => {
    const service = aService({ config: allowing });
    service.send({ model: "unknown", replyTo: { sqs: queue.queueUrl } });
    await service.invoke();
    expect(await service.world.jobs.read("j-1")).toMatchObject({ releases: 1, sweepAtMs: lateMs, replyTo: queue });
  });

  test("and that has its reply in the end is forgotten", async () => {
    const service = aService({ script: throttled, config: allowing });
    service.send({ replyTo: { sqs: queue.queueUrl } });
    await service.invoke();
    const well = createMemoryWorker(
      { ...service.world, models: createMemoryWorld({ startMs: t0, lane: "bg" }).models },
      allowing,
      "bg",
    );
    await service.world.clock.advance(3_500_000);
    await service.invoke({ worker: well });
    const row = await service.world.jobs.read("j-1");
    expect(row).toMatchObject({ state: "ended", announced: [queue] });
    expect(row).not.toHaveProperty("sweepAtMs");
    expect(row).not.toHaveProperty("replyTo");
  });
});
