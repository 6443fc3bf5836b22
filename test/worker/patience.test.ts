/** Whoever only waits is never given up: a day's deadline, and no room for the first 23 hours of it. */
import { describe, expect, test } from "vitest";
import { laneLimits, requeueDeadlineLeftMsMin, sweepEveryMs } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { sweep } from "../../lib/worker/sweep.ts";
import { t0 } from "../a.ts";
import { aService, config } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const hourMs = 3_600_000;
const freeAtMs = t0 + 23 * hourMs;
const deadlineAt = t0 + 24 * hourMs;

/** Runs the queue, and the sweeper beside it, until both have nothing left to do; answers how often the message was received. */
async function wait(service: Service): Promise<number> {
  const { clock, noted, queue } = service.world;
  const sweeper = { config, world: service.world, name: "sweeper", version: "0" };
  for (let sweepAtMs = t0 + sweepEveryMs; ;) {
    const nextMs = queue.depth().visible > 0 ? clock.nowMs() : queue.nextVisibleAtMs();
    if (nextMs === undefined) break;
    for (; sweepAtMs <= nextMs; sweepAtMs += sweepEveryMs) {
      await clock.advance(Math.max(0, sweepAtMs - clock.nowMs()));
      let isOver = false;
      void sweep(sweeper, clock.nowMs() + 120_000).then(() => (isOver = true));
      await clock.runUntil(() => isOver);
    }
    await clock.advance(Math.max(0, nextMs - clock.nowMs()));
    await service.invoke();
  }
  return noted.filter(({ kind }) => kind === "delivered").length;
}

const throttledFor = (hours: number): ScriptText => ({
  rules: [{ when: { toMs: hours * hourMs }, do: { kind: "fail", error: "throttled" } }],
});

const reasons: [why: string, script: ScriptText, before: (service: Service) => Promise<void>][] = [
  ["every request is throttled", throttledFor(23), async () => undefined],
  [
    "others hold every lease",
    {},
    async ({ world }) => {
      for (const ledger of ["fast@west", "fast@east", "smart@west"]) {
        const ids = Array.from({ length: 10 }, (_, index) => `${ledger}-${index}`);
        await world.leases.createPage({ ledger, page: 0 });
        await world.leases.take({ ledger, page: 0 }, ids, 10, freeAtMs);
      }
    },
  ],
  [
    "an operator has paused the lane",
    {},
    ({ world }) => world.leases.setOverride({ kind: "lane", name: "bulk", override: { pausedUntilMs: freeAtMs } }),
  ],
  [
    "an operator has taken every target out",
    {},
    async ({ world }) => {
      for (const name of ["fast@west", "fast@east", "smart@west"]) {
        await world.leases.setOverride({ kind: "ledger", name, override: { out: true } });
        world.clock.after(23 * hourMs, () => void world.leases.setOverride({ kind: "ledger", name }));
      }
    },
  ],
];

describe("a job with a day's time, of which for 23 hours", () => {
  test.each(reasons)(
    "%s, has its one reply in the last hour, and is nowhere given up",
    async (_why, script, before) => {
      const service = aService({ lane: "bulk", script });
      await before(service);
      service.send({ deadlineAt });
      const receives = await wait(service);

      const row = await service.world.jobs.read("j-1");
      expect(service.reply()).toMatchObject({ ok: true, status: "succeeded" });
      expect(row).toMatchObject({ state: "ended" });
      expect(row).not.toHaveProperty("sweepAtMs");
      const { noted, queue } = service.world;
      expect(noted.filter(({ kind }) => kind === "replied")).toHaveLength(1);
      expect(queue.deadLetters).toEqual([]);
      expect(queue.parked).toEqual([]);
      expect(receives).toBeLessThan(laneLimits.bulk.receivesMax);
      const { totalMs = 0 } = service.reply()?.meta ?? {};
      expect(totalMs).toBeGreaterThanOrEqual(23 * hourMs);
      expect(totalMs).toBeLessThan(24 * hourMs);
    },
  );

  test.each(["bg", "bulk"] as const)(
    "it had no room and had lowered its lane to %s is given up nowhere either",
    async (lane) => {
      const service = aService({ lane: "rt", script: throttledFor(lane === "bg" ? 11 : 23) });
      service.send({ lane, ...(lane === "bg" ? { deadlineAt: t0 + 12 * hourMs } : { deadlineAt }) });
      const receives = await wait(service);
      expect(service.reply()).toMatchObject({ ok: true });
      expect([...service.world.queue.deadLetters, ...service.world.queue.parked]).toEqual([]);
      expect(receives).toBeLessThan(laneLimits.rt.receivesMax);
    },
  );

  test("and for the last one too there is no room, has its one reply at the end, and is nowhere given up", async () => {
    const service = aService({
      lane: "bulk",
      script: { rules: [{ when: {}, do: { kind: "fail", error: "throttled" } }] },
    });
    service.send({ deadlineAt });
    const receives = await wait(service);
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "no_capacity" } });
    const { totalMs = 0 } = service.reply()?.meta ?? {};
    expect(totalMs).toBeGreaterThanOrEqual(24 * hourMs - requeueDeadlineLeftMsMin);
    expect(totalMs).toBeLessThanOrEqual(24 * hourMs);
    const { noted, queue } = service.world;
    expect(noted.filter(({ kind }) => kind === "replied")).toHaveLength(1);
    expect([...queue.deadLetters, ...queue.parked]).toEqual([]);
    expect(receives).toBeLessThan(laneLimits.bulk.receivesMax);
  });
});
