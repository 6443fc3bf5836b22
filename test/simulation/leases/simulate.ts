import type { Lane } from "../../../lib/core/lane.ts";
import type { LeaseAsk } from "../../../lib/core/lease.ts";
import { heartbeatMs, laneLimits, leaseGraceMs, leaseMs } from "../../../lib/core/limits.ts";
import type { Noted } from "../../../lib/core/noted.ts";
import { createDice, createVirtualClock } from "../../../lib/memory/clock.ts";
import type { Clock } from "../../../lib/ports.ts";
import { t0 } from "../../a.ts";
import { exponential } from "./dice.ts";
import type { Bill, Faults } from "./dynamo.ts";
import { Client, noFaults, Service } from "./dynamo.ts";
import type { Interval } from "./history.ts";
import { Model } from "./model.ts";
import type { Desk, Protocol } from "./protocol.ts";

const ledger = "fast-text@us-west-2";
/** From the end of one invocation to the first lease of the next: the queue's poll, the invocation, the claim. */
const betweenMsMean = 50;
const heartbeatMsLate = 40_000;
/** Repeated requests come up to a minute late. */
const quietMs = 60_000 + leaseMs + leaseGraceMs;

/** Workers of one lane, each with one invocation at a time, and a queue that is never empty. */
export interface Crew {
  readonly lane: Lane;
  readonly workers: number;
  /** Jobs of one invocation, run together. */
  readonly batch?: number;
  /** A queue that is often empty: so long, on average, a worker then waits for its next job. */
  readonly idleMsMean?: number;
}

export interface Scenario {
  readonly seed: number;
  readonly crews: readonly Crew[];
  readonly limitStart?: number;
  readonly limitMax: number;
  /** What comes before is not counted. */
  readonly fromS: number;
  readonly untilS: number;
  readonly faults?: Faults;
  readonly skewMsMax?: number;
  /** Workers die, that long after their start on average, and are replaced. */
  readonly lifeMsMean?: number;
  /** So often, 0–1, a heartbeat comes half a minute late, and an answer takes up to a minute longer. */
  readonly late?: number;
  /** What the model really takes, by the second. */
  readonly trueLimit?: (second: number) => number;
}

export interface Attempt extends Interval {
  answer: "answered" | "throttled";
}

export interface Findings {
  readonly history: readonly Attempt[];
  /** Of every job that asked: how long it waited for its lease, or until it had none. */
  readonly waits: readonly { readonly lane: Lane; readonly waitMs: number; readonly isTaken: boolean }[];
  readonly noted: ReadonlyMap<Noted["kind"], number>;
  /** The limit in force, whenever it changed. */
  readonly limits: readonly { readonly second: number; readonly limit: number }[];
  readonly bill: Bill;
  readonly left: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Lets the crews work; then all is quiet until whatever they left behind has lapsed. */
export async function simulate(scenario: Scenario, protocol: Protocol): Promise<Findings> {
  const {
    seed,
    limitMax,
    fromS,
    untilS,
    faults = noFaults,
    skewMsMax = 0,
    late = 0,
    trueLimit = () => Infinity,
  } = scenario;
  const [fromMs, untilMs] = [t0 + fromS * 1_000, t0 + untilS * 1_000];
  const clock = createVirtualClock(t0, seed);
  const dice = createDice(seed);
  const service = new Service(clock);
  const model = new Model(clock, dice, () => trueLimit((clock.nowMs() - t0) / 1_000), late);
  const history: Attempt[] = [];
  const waits: Findings["waits"][number][] = [];
  const limits: Findings["limits"][number][] = [];
  const noted = new Map<Noted["kind"], number>();

  const note = (event: Noted) => {
    noted.set(event.kind, (noted.get(event.kind) ?? 0) + 1);
    if (event.kind === "limit-cut" || event.kind === "limit-raised")
      limits.push({ second: (clock.nowMs() - t0) / 1_000, limit: event.to });
  };

  /** One job, from its first wish for a lease on. */
  const runJob = async (desk: Desk, lane: Lane, death: AbortSignal) => {
    const { share, leaseWaitMsMax, walksMax } = laneLimits[lane];
    const ask: LeaseAsk = { ledger, lane, share, limitStart: scenario.limitStart ?? limitMax, limitMax };
    const askedAtMs = clock.nowMs();
    for (let walk = 1; walk <= walksMax; walk++) {
      const taken = await desk.take({ target: ledger, asks: [ask] }, { waitMs: leaseWaitMsMax, signal: death });
      const isTaken = taken.kind === "taken";
      const isOver = isTaken || taken.kind !== "full" || walk === walksMax;
      if (isOver && askedAtMs >= fromMs) waits.push({ lane, waitMs: clock.nowMs() - askedAtMs, isTaken });
      if (!isTaken) {
        if (isOver) return;
        continue;
      }

      const attempt: Attempt = { ask, takenAtMs: clock.nowMs(), endedAtMs: Infinity, answer: "answered" };
      history.push(attempt);
      const cut = new AbortController();
      const onCut = () => cut.abort();
      taken.lost.addEventListener("abort", onCut);
      death.addEventListener("abort", onCut);
      attempt.answer = await model.ask(cut.signal);
      death.removeEventListener("abort", onCut);
      attempt.endedAtMs = clock.nowMs();
      if (death.aborted) return;
      return await desk.giveBack(taken, { kind: attempt.answer === "throttled" ? "throttled" : "neutral" });
    }
  };

  /** A container, from its start to the end of the run or its death. */
  const live = async ({ lane, batch = 1, idleMsMean = 0 }: Crew, death: AbortSignal) => {
    const own = mortal(clock, (dice() * 2 - 1) * skewMsMax, death);
    const desk = protocol.open({ clock: own, client: new Client(service, own, dice, faults), dice, note }, ledger);
    for (;;) {
      await own.sleep(exponential(dice, betweenMsMean) + (idleMsMean > 0 ? exponential(dice, idleMsMean) : 0));
      if (clock.nowMs() >= untilMs) return;
      const over = new AbortController();
      const beating = beat(own, desk, () => (dice() < late ? heartbeatMsLate : heartbeatMs), over.signal);
      await Promise.all(Array.from({ length: batch }, () => runJob(desk, lane, death)));
      over.abort();
      await beating;
      await desk.idle();
    }
  };

  const workAndBeReplaced = async (crew: Crew) => {
    while (clock.nowMs() < untilMs) {
      const death = new AbortController();
      const died = new Promise<void>((resolve) => death.signal.addEventListener("abort", () => resolve()));
      const { lifeMsMean } = scenario;
      const spare =
        lifeMsMean === undefined ? undefined : clock.after(exponential(dice, lifeMsMean), () => death.abort());
      await Promise.race([live(crew, death.signal), died]);
      spare?.();
    }
  };

  clock.after(fromS * 1_000, () => service.settle());
  let over = false;
  const all = scenario.crews.flatMap((crew) => Array.from({ length: crew.workers }, () => workAndBeReplaced(crew)));
  void Promise.all(all).then(() => (over = true));
  await clock.advance(untilS * 1_000);
  const bill = service.settle();
  await clock.runUntil(() => over);
  await clock.advance(quietMs + 2 * skewMsMax);
  const left = await protocol.left(ledger, limitMax, clock.nowMs() - skewMsMax);
  return { history, waits, noted, limits, bill, left, fromMs, untilMs };
}

async function beat(clock: Clock, desk: Desk, pauseMs: () => number, over: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(pauseMs(), over);
    if (over.aborted) return;
    await desk.renew();
  }
}

/** A clock that is wrong by a little, and on which nothing happens any more after the death of its owner. */
function mortal(clock: Clock, skewMs: number, death: AbortSignal): Clock {
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
