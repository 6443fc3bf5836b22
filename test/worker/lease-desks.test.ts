import { describe, expect, test } from "vitest";
import type { LeaseAsk } from "../../lib/core/lease.ts";
import { heartbeatMs, leaseGraceMs, leaseMs } from "../../lib/core/limits.ts";
import { createDice, createVirtualClock } from "../../lib/memory/clock.ts";
import type { VirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import type { Clock, LeaseTable } from "../../lib/ports.ts";
import { Board } from "../../lib/worker/board.ts";
import { LeaseDesk } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { wired } from "./lease-wire.ts";

const ledger = "fast-text@us-west-2";
const skewMsMax = 500;
const latestCopyMs = 60_000;
const attemptsAtOnce = 4;
const attemptsEach = 10;

/** Requests in flight as a bystander with the true time sees them. */
class Bystander {
  readonly #out = new Set<object>();
  readonly seen = { taken: 0, lost: 0, reclaimed: 0, died: 0, outMost: 0 };

  begins(request: object): void {
    this.#out.add(request);
    this.seen.taken += 1;
    this.seen.outMost = Math.max(this.seen.outMost, this.#out.size);
  }

  ends(request: object): void {
    this.#out.delete(request);
  }
}

/** A container: four attempts at a time, a heartbeat that is often late, a wire that loses, delays and repeats. */
async function liveAndPerhapsDie(
  clock: VirtualClock,
  table: LeaseTable,
  dice: () => number,
  limit: number,
  by: Bystander,
) {
  const death = new AbortController();
  const own = mortalClock(clock, (dice() * 2 - 1) * skewMsMax, death.signal);
  const leases = wired(table, async (_request, send) => {
    const [fate, late] = [dice(), dice()];
    await clock.sleep(1 + dice() * 8);
    if (fate < 0.03) throw new Error("the request is lost");
    const answer = await send();
    if (fate > 0.96) clock.after(dice() * latestCopyMs, () => void send());
    await own.sleep(late < 0.03 ? dice() * 32_000 : 1 + dice() * 8);
    if (fate < 0.08) throw new Error("the answer is lost");
    return answer;
  });
  const note = ({ kind }: { readonly kind: string }) => {
    if (kind === "lease-reclaimed") by.seen.reclaimed += 1;
    if (kind === "lease-lost") by.seen.lost += 1;
  };
  const world = { clock: own, leases, telemetry: { note } };
  const desk = new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));

  const attempt = async () => {
    const [lane, share] = dice() < 0.5 ? (["rt", 1] as const) : (["bulk", 0.9] as const);
    const ask: LeaseAsk = { ledger, lane, share, limitStart: limit, limitMax: limit };
    const taken = await desk.take({ target: ledger, asks: [ask] }, { waitMs: 2_000, signal: death.signal });
    if (taken.kind !== "taken") return await own.sleep(dice() * 2_000);
    const request = {};
    by.begins(request);
    const ends = () => by.ends(request);
    taken.lost.addEventListener("abort", ends);
    death.signal.addEventListener("abort", ends);
    await own.sleep(dice() < 0.3 ? 20_000 + dice() * 60_000 : dice() * 8_000, taken.lost);
    ends();
    await desk.giveBack(taken, { kind: "neutral" });
  };

  const over = new AbortController();
  const heartbeat = async () => {
    while (!over.signal.aborted) {
      await own.sleep(dice() < 0.2 ? 35_000 : heartbeatMs, over.signal);
      await desk.renew();
    }
  };
  const attempts = async () => {
    for (let count = 0; count < attemptsEach; count++) await attempt();
  };
  const died = new Promise((resolve) => {
    death.signal.addEventListener("abort", resolve);
  });
  if (dice() < 0.4) {
    clock.after(dice() * 90_000, () => {
      by.seen.died += 1;
      death.abort();
    });
  }
  const beating = heartbeat();
  await Promise.race([died, Promise.all(Array.from({ length: attemptsAtOnce }, attempts))]);
  over.abort();
  await Promise.race([died, beating.then(() => desk.idle())]);
}

/** A clock that is wrong by a little, and on which nothing happens any more after the death of its owner. */
function mortalClock(clock: Clock, skewMs: number, death: AbortSignal): Clock {
  const never = new Promise<never>(() => undefined);
  return {
    ...clock,
    nowMs: () => clock.nowMs() + skewMs,
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal);
      if (death.aborted) await never;
    },
    after: (ms, fire) =>
      clock.after(ms, () => {
        if (!death.aborted) fire();
      }),
  };
}

async function simulate(limit: number, containers: number, seed: number) {
  const clock = createVirtualClock(t0, seed);
  const dice = createDice(seed);
  const table = createMemoryLeaseTable();
  const by = new Bystander();
  let over = false;
  void Promise.all(Array.from({ length: containers }, () => liveAndPerhapsDie(clock, table, dice, limit, by))).then(
    () => (over = true),
  );
  await clock.runUntil(() => over);
  await clock.advance(latestCopyMs + leaseMs + leaseGraceMs + 2 * skewMsMax);

  // After quiet the whole ledger is free: somebody new gets all of it, though one page may need several looks.
  const world = { clock, leases: table, telemetry: { note: () => undefined } };
  const desk = new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));
  const ask: LeaseAsk = { ledger, lane: "rt", share: 1, limitStart: limit, limitMax: limit };
  const takes = Array.from({ length: limit }, () =>
    desk.take({ target: ledger, asks: [ask] }, { waitMs: 20_000, signal: new AbortController().signal }),
  );
  let kinds: string[] | undefined;
  void Promise.all(takes).then((all) => (kinds = all.map(({ kind }) => kind)));
  await clock.runUntil(() => kinds !== undefined);
  return { ...by.seen, free: kinds?.filter((kind) => kind === "taken").length };
}

describe.each([
  [3, 3, 12],
  [10, 5, 12],
  [40, 14, 4],
])(
  "a limit of %i under %i containers that lose requests, repeat them, disagree on the time, and die",
  (limit, containers, runs) => {
    const seeds = Array.from({ length: runs }, (_, index) => index + 1);
    const seen: Awaited<ReturnType<typeof simulate>>[] = [];

    test.each(seeds)("is kept, and all of it is free in the end (seed %i)", async (seed) => {
      const run = await simulate(limit, containers, seed);
      seen.push(run);
      expect(run.outMost).toBeLessThanOrEqual(limit);
      expect(run.free).toBe(limit);
    });

    test("is reached, and all that can happen has happened", () => {
      expect(Math.max(...seen.map(({ outMost }) => outMost))).toBe(limit);
      const happened = (["lost", "reclaimed", "died"] as const).filter((fact) => seen.some((run) => run[fact] > 0));
      expect(happened).toEqual(["lost", "reclaimed", "died"]);
    });
  },
);
