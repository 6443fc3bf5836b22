import type { Config } from "../lib/core/config.ts";
import type { Lane } from "../lib/core/lane.ts";
import { laneCap } from "../lib/core/lease.ts";
import { leasesOutMax } from "../lib/core/ledgers.ts";
import { laneLimits } from "../lib/core/limits.ts";

/** How a lane's queue is mapped to its worker: jobs in one invocation, and invocations at once. */
export interface Mapping {
  readonly batchSize: number;
  readonly concurrencyMax: number;
}

/** What AWS takes as an event source mapping's maximum concurrency. */
const concurrencyMin = 2;
const concurrencyMax = 1_000;

/** A lone job is mostly in flight; one in a batch is often done and waits for the slowest of its batch. */
const jobsPerLease = { alone: 1.2, batched: 2.5 };

/**
 * A little more work than there are leases: much more, and workers are paid for waiting; less, and leases lie idle.
 * Where even AWS's minimum of two invocations would bring too many jobs, the batch shrinks.
 */
export function laneMapping(config: Config, lane: Lane): Mapping {
  const leases = leasesOf(config, lane);
  const batchSize = Math.min(laneLimits[lane].batchSize, Math.floor((jobsPerLease.batched * leases) / concurrencyMin));
  if (batchSize <= 1) return { batchSize: 1, concurrencyMax: bounded(jobsPerLease.alone * leases) };
  return { batchSize, concurrencyMax: bounded((jobsPerLease.batched * leases) / batchSize) };
}

function bounded(invocations: number): number {
  return Math.min(concurrencyMax, Math.max(concurrencyMin, Math.floor(invocations)));
}

/** How many leases a lane may hold at once, over all targets, when every limit stands at its maximum. */
export function leasesOf(config: Config, lane: Lane): number {
  return leasesOutMax(config, (limit) => laneCap(limit, config.lanes[lane].share));
}
