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

type Limits = Readonly<Record<string, number>>;

/** A request in flight, under leases of these ledgers. */
interface Request {
  readonly ledgers: readonly string[];
}

/** Requests in flight as a bystander with the true time sees them. */
class Bystander {
  readonly #out = new Set<Request>();
  readonly outMost: Record<string, number> = {};
  readonly seen = { taken: 0, lost: 0, reclaimed: 0, died: 0 };

  begins(request: Request): void {
    this.#out.add(request);
    this.seen.taken += 1;
    for (const name of request.ledgers) {
      const out = [...this.#out].filter(({ ledgers }) => ledgers.includes(name)).length;
      this.outMost[name] = Math.max(this.outMost[name] ?? 0, out);
    }
  }

  ends(request: Request): void {
    this.#out.delete(request);
  }
}

/** A container: four attempts at a time, a heartbeat that is often late, a wire that loses, delays and repeats. */
async function liveAndPerhapsDie(
  clock: VirtualClock,
  table: LeaseTable,
  dice: () => number,
  limits: Limits,
  by: Bystander,
) {
  const targets = Object.keys(limits).filter((name) => name.includes("@"));
  const shared = Object.keys(limits).filter((name) => !name.includes("@"));
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
  const desk = new LeaseDesk(world, new Board(world, { ledgers: Object.keys(limits) }));

  const attempt = async () => {
    const [lane, share] = dice() < 0.5 ? (["rt", 1] as const) : (["bulk", 0.9] as const);
    const target = targets[Math.floor(dice() * targets.length)] ?? "";
    // In any order: not even crossed ones may hold each other up.
    const ledgers = shared.filter(() => dice() < 0.7).toSpliced(Math.floor(dice() * 3), 0, target);
    const asks = ledgers.map((name): LeaseAsk => {
      const limit = limits[name] ?? 0;
      return { ledger: name, lane, share, limitStart: limit, limitMax: limit };
    });
    const taken = await desk.take({ target, asks }, { waitMs: 2_000, signal: death.signal });
    if (taken.kind !== "taken") return await own.sleep(dice() * 2_000);
    const request = { ledgers };
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

async function simulate(limits: Limits, containers: number, seed: number) {
  const clock = createVirtualClock(t0, seed);
  const dice = createDice(seed);
  const table = createMemoryLeaseTable();
  const by = new Bystander();
  let over = false;
  void Promise.all(Array.from({ length: containers }, () => liveAndPerhapsDie(clock, table, dice, limits, by))).then(
    () => (over = true),
  );
  await clock.runUntil(() => over);
  await clock.advance(latestCopyMs + leaseMs + leaseGraceMs + 2 * skewMsMax);

  // After quiet every ledger is free: somebody new gets all of it, though one page may need several looks.
  const free: Record<string, number> = {};
  for (const [name, limit] of Object.entries(limits)) free[name] = await freeOf(clock, table, name, limit);
  return { ...by.seen, outMost: by.outMost, free };
}

async function freeOf(clock: VirtualClock, table: LeaseTable, name: string, limit: number): Promise<number> {
  const world = { clock, leases: table, telemetry: { note: () => undefined } };
  const desk = new LeaseDesk(world, new Board(world, { ledgers: [name] }));
  const ask: LeaseAsk = { ledger: name, lane: "rt", share: 1, limitStart: limit, limitMax: limit };
  const takes = Array.from({ length: limit }, () =>
    desk.take({ target: name, asks: [ask] }, { waitMs: 20_000, signal: new AbortController().signal }),
  );
  let kinds: string[] | undefined;
  void Promise.all(takes).then((all) => (kinds = all.map(({ kind }) => kind)));
  await clock.runUntil(() => kinds !== undefined);
  return kinds?.filter((kind) => kind === "taken").length ?? 0;
}

describe.each<[limits: Limits, containers: number, runs: number]>([
  [{ [ledger]: 3 }, 3, 12],
  [{ [ledger]: 10 }, 5, 12],
  [{ [ledger]: 40 }, 16, 4],
  [{ [ledger]: 6, "fast-text@us-east-1": 5, "group:nova": 8, "operation:summarise": 4 }, 5, 12],
])(
  "limits of %o under %i containers that lose requests, repeat them, disagree on the time, and die",
  (limits, containers, runs) => {
    const seeds = Array.from({ length: runs }, (_, index) => index + 1);
    const seen: Awaited<ReturnType<typeof simulate>>[] = [];

    test.each(seeds)("are kept, and all of them is free in the end (seed %i)", async (seed) => {
      const run = await simulate(limits, containers, seed);
      seen.push(run);
      for (const [name, limit] of Object.entries(limits)) expect(run.outMost[name]).toBeLessThanOrEqual(limit);
      expect(run.free).toEqual(limits);
    });

    test("are reached, and all that can happen has happened", () => {
      for (const [name, limit] of Object.entries(limits))
        expect(Math.max(...seen.map(({ outMost }) => outMost[name] ?? 0))).toBe(limit);
      const happened = (["lost", "reclaimed", "died"] as const).filter((fact) => seen.some((run) => run[fact] > 0));
      expect(happened).toEqual(["lost", "reclaimed", "died"]);
    });
  },
);
