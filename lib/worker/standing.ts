import type { Job } from "../core/job.ts";
import { leaseAsks } from "../core/ledgers.ts";
import { effective } from "../core/override.ts";
import type { Step } from "../core/plan.ts";
import type { Worker } from "./invocation.ts";

/** Whether a job may be tried on a step, as far as its ledgers and the operators say. Times are epoch ms. */
export interface Standing {
  readonly takenOut: boolean;
  readonly pausedUntilMs?: number;
}

/** The later of two pauses counts: that of the throttled ledger and that of an operator. */
export function standingOf(
  { board, config, world }: Pick<Worker, "board" | "config" | "world">,
  job: Pick<Job, "lane" | "operation">,
  step: Step,
): Standing {
  const ledgers = leaseAsks(job, step, config).map(({ ledger }) => ledger);
  const says = effective(ledgers, job.lane, board.overrides, world.clock.nowMs());
  const pausedUntilMs = Math.max(board.head(step.name)?.pausedUntilMs ?? 0, says.kind === "paused" ? says.untilMs : 0);
  return { takenOut: says.kind === "out", ...(pausedUntilMs === 0 ? {} : { pausedUntilMs }) };
}
