import { lanes } from "../../../lib/core/lane.ts";
import { laneLimits, leaseGraceMs, leaseMs, sweepEveryMs } from "../../../lib/core/limits.ts";
import { faultMs } from "./faults.ts";
import type { Fault } from "./faults.ts";
import type { History } from "./history.ts";
import { deadLettersOf, replyStoreOf, sweepOnce, workerOf } from "./functions.ts";
import type { Mutant } from "./functions.ts";
import { Lambda } from "./lambda.ts";
import type { Scenario } from "./scenario.ts";
import { Stage, startOf } from "./stage.ts";

/** All that tells one run of a scenario from another. */
export interface Trouble {
  readonly seed: number;
  readonly faults: readonly Fault[];
  /** Containers' clocks are right, fast and slow by this, in turn. */
  readonly skewMs: number;
}

export const calm: Trouble = { seed: 1, faults: [], skewMs: 0 };

/** Every job is over by then, though workers of a bulk queue die again and again before they have hidden anything. */
const horizonMs = 30 * 3_600_000;
/** Late copies, leases and probes are over after it. */
const quietMs = faultMs.late + Math.max(leaseMs, laneLimits.bulk.attemptMsMax) + leaseGraceMs + 10_000;

/** Runs a scenario until every message has gone, and on until whatever was left behind must have lapsed. */
export async function run(scenario: Scenario, trouble: Trouble = calm, mutant: Mutant = {}): Promise<History> {
  const faults = [...(scenario.faults ?? []), ...trouble.faults];
  const stage = new Stage(scenario, faults, trouble.seed, mutant);
  const { clock, world } = stage;
  const startMs = startOf(scenario);
  const used = lanes.filter((lane) => scenario.sends.some((send) => send.lane === lane));
  const functions = [
    ...used.flatMap((lane) => [workerOf(lane, stage, mutant), deadLettersOf(lane, stage, mutant)]),
    replyStoreOf(stage, mutant),
  ];
  const lambdas = functions.map((one) => new Lambda(one, stage, trouble.skewMs));
  stage.onQueue = () => {
    for (const lambda of lambdas) lambda.look();
  };
  for (const [index, { atMs }] of scenario.sends.entries()) clock.after(atMs, () => stage.send(index));
  for (const { jobId, atMs } of scenario.cancels ?? []) clock.after(atMs, () => void stage.cancel(jobId));
  for (const { atMs, ...ask } of scenario.overrides ?? []) clock.after(atMs, () => void world.leases.setOverride(ask));

  const allSentMs = Math.max(...scenario.sends.map(({ atMs }) => atMs));
  if (scenario.purgedAtMs !== undefined) clock.after(scenario.purgedAtMs, () => stage.purge());
  let sweeps = 0;
  const sweepOn = () => {
    void sweepOnce(++sweeps, stage, mutant);
    cancelSweep = clock.after(sweepEveryMs, sweepOn);
  };
  let cancelSweep = clock.after(sweepEveryMs, sweepOn);

  const isOver = () =>
    clock.nowMs() > startMs + allSentMs && lambdas.every(({ isQuiet }) => isQuiet) && stage.due === 0;
  const isLate = () => clock.nowMs() > startMs + allSentMs + horizonMs;
  const isDone = () => isOver() || isLate() || stage.stuck !== undefined;
  await clock.runUntil(isDone);
  if (!isOver()) stage.stuck ??= "messages came and went without an end";
  cancelSweep();
  await clock.advance(quietMs);

  const ledgers = [...stage.limits.keys()];
  const leases = await Promise.all(ledgers.map(async (ledger) => [ledger, await stage.leasesOf(ledger)] as const));
  const { breakers } = await world.leases.readBoard({ ledgers: [], targets: ledgers, lanes: [], models: [] });
  return {
    scenario,
    faults,
    moments: stage.moments,
    messages: stage.messages,
    limits: stage.limits,
    counts: stage.counts,
    end: {
      atMs: clock.nowMs(),
      rows: world.jobs.rows(),
      leases: new Map(leases),
      breakers,
      waiting: stage.queues.reduce((sum, queue) => sum + queue.depth().visible + queue.depth().hidden, 0),
      ...(stage.stuck === undefined ? {} : { stuck: stage.stuck }),
    },
  };
}
