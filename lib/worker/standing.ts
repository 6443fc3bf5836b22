import type { Job } from "../core/job.ts";
import { leaseAsks } from "../core/ledgers.ts";
import { availability } from "../core/override.ts";
import type { Step, StepFacts } from "../core/plan.ts";
import type { Worker } from "./invocation.ts";

/**
 * What the lane's budget, the target's ledger and the operators say of a job on a step. The later of two pauses counts:
 * that of a throttle and that of an operator.
 */
export function standingOf(
  { board, budgets, config, world }: Pick<Worker, "board" | "budgets" | "config" | "world">,
  job: Pick<Job, "lane" | "operation">,
  step: Step,
): Pick<StepFacts, "budgetUntilMs" | "takenOut" | "pausedUntilMs"> {
  const ledgers = leaseAsks(job, step, config).map(({ ledger }) => ledger);
  const says = availability(ledgers, job.lane, board.overrides, world.clock.nowMs());
  const pausedUntilMs = Math.max(board.head(step.name)?.pausedUntilMs ?? 0, says.kind === "paused" ? says.untilMs : 0);
  const budgetUntilMs = budgets.pauseOf(job.lane)?.untilMs;
  return {
    takenOut: says.kind === "out",
    ...(pausedUntilMs === 0 ? {} : { pausedUntilMs }),
    ...(budgetUntilMs === undefined ? {} : { budgetUntilMs }),
  };
}
