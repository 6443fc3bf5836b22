/** The limit, as the model itself sees it: many workers, their tables and clocks in trouble, one script that counts. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import { deliveryOf } from "../../lib/core/batch.ts";
import { createDice } from "../../lib/memory/clock.ts";
import { createMemoryWorker, createMemoryWorld } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { Clock, LeaseTable, World } from "../../lib/ports.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import { t0 } from "../a.ts";

const configOf = (max: number) =>
  checkConfig({
    models: {
      fast: {
        targets: {
          west: { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: max, max }, maxTokens: 100 },
        },
      },
    },
    lanes: { bg: { share: 1 } },
  });

/** A lease table that loses answers after it has written, loses requests, and writes some of them twice, late. */
function unreliable(leases: LeaseTable, clock: Clock, dice: () => number): LeaseTable {
  const lost = () => Object.assign(new Error("lost"), { name: "TimeoutError" });
  return new Proxy(leases, {
    get(table, verb) {
      const value: unknown = Reflect.get(table, verb);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        const act = async (): Promise<unknown> => Reflect.apply(value, table, args);
        await clock.sleep(dice() * 20);
        const fate = dice();
        if (fate < 0.02) throw lost();
        const answer = await act();
        if (fate < 0.04) clock.after(dice() * 10_000, () => void act().catch(() => undefined));
        if (fate < 0.06) throw lost();
        return answer;
      };
    },
  });
}

/** What a worker sees: its own clock is off by up to half a second. From `diesAtMs` on none of its calls is answered. */
function around(world: MemoryWorld, seed: number, trouble: boolean, diesAtMs: number): World {
  if (!trouble) return world;
  const dice = createDice(seed);
  const skewMs = Math.round(dice() * 1_000 - 500);
  const clock: Clock = { ...world.clock, nowMs: () => world.clock.nowMs() + skewMs };
  const mortal = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, verb) {
        const value: unknown = Reflect.get(target, verb);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown =>
          world.clock.nowMs() >= diesAtMs ? new Promise(() => undefined) : Reflect.apply(value, target, args);
      },
    });
  const leases = mortal(unreliable(world.leases, clock, dice));
  return { ...world, clock, leases, jobs: mortal(world.jobs), queue: mortal(world.queue) };
}

/** Three times as many jobs at work as the limit takes, for two minutes; answers what the model saw. */
async function crowd(max: number, trouble: boolean, seed: number) {
  const world = createMemoryWorld({
    startMs: t0,
    lane: "bg",
    seed,
    script: { seed, latency: { meanMs: 5_000, sigma: 0.5 } },
  });
  const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  for (let jobs = 0; jobs < max * 60; jobs += 1)
    world.queue.send(JSON.stringify({ jobId: `j-${jobs}`, model: "fast", op: "converse", params }));

  const dice = createDice(seed);
  const endsAtMs = t0 + 120_000;
  // Of four one dies: its lease is reclaimed by another, whose clock is not the same.
  const crew = Math.max(trouble ? 4 : 1, Math.ceil((max * 3) / 5));
  const workers = Array.from({ length: crew }, (_, index) => async () => {
    const diesAtMs = trouble && index % 4 === 0 ? t0 + dice() * 100_000 : Infinity;
    const worker = createMemoryWorker(around(world, seed * 100 + index, trouble, diesAtMs), configOf(max), "bg");
    while (world.clock.nowMs() < Math.min(endsAtMs, diesAtMs)) {
      const received = world.queue.receive(5);
      const records = received.map((record) => deliveryOf(record, "bg", world.clock.nowMs()));
      const again = new Set(await processBatch(worker, records, world.clock.nowMs() + 300_000));
      for (const { messageId, receiptHandle } of received) if (!again.has(messageId)) world.queue.delete(receiptHandle);
      if (received.length === 0) await world.clock.sleep(500);
    }
  });
  for (const work of workers) void work();
  await world.clock.advance(120_000);
  const busy = world.models.play.record();
  await world.clock.advance(400_000);

  const pages = await Promise.all(
    Array.from({ length: Math.ceil(max / 32) }, (_, page) => world.leases.readPage({ ledger: "fast@west", page })),
  );
  return {
    most: busy.max,
    answered: busy.calls.filter(({ outcome }) => outcome === "answered").length,
    replies: world.jobs.rows().filter(({ reply }) => reply !== undefined).length,
    left: pages.flatMap((page) => Object.values(page ?? {})).filter((untilMs) => untilMs > world.clock.nowMs()).length,
  };
}

describe("under three times the demand", () => {
  test.each([1, 5, 50])("a limit of %i is never passed at the model, and is used to the full", async (max) => {
    const { most, answered, replies } = await crowd(max, false, 1);
    expect(most).toBe(max);
    // 120 s of attempts of 5 s in the mean: 24 each, less the first and last that the window cuts.
    expect(answered).toBeGreaterThan(max * 18);
    expect(replies).toBeGreaterThanOrEqual(answered);
  });

  test.each([
    [1, 2],
    [5, 3],
    [50, 4],
  ])(
    "nor is one of %i with lost answers, late copies, clocks apart and workers that die (seed %i)",
    async (max, seed) => {
      const { most, answered, left } = await crowd(max, true, seed);
      expect(most).toBeLessThanOrEqual(max);
      expect(answered).toBeGreaterThan(max);
      expect(left).toBe(0);
    },
  );
});
