import { countedAs } from "../core/count-tokens.ts";
import type { JsonObject } from "../core/json.ts";
import { countMsMax } from "../core/limits.ts";
import type { Step } from "../core/plan.ts";
import { inTime } from "./in-time.ts";
import type { Run } from "./run.ts";

/**
 * Has the step's model count the prompt, once a delivery. No lease is held for it, and it never decides a job's fate by
 * failing: without a count the estimate stands.
 */
export async function countTokens(
  run: Run,
  step: Step,
  params: JsonObject,
  counts: Map<string, number | undefined>,
): Promise<void> {
  const model = countedAs(step);
  if (model === undefined || counts.has(model)) return;
  const { clock, models } = run.invocation.worker.world;
  const late = new AbortController();
  const leftMs = run.job.deadlineAtMs - clock.nowMs();
  const cancelTimer = clock.after(Math.min(countMsMax, leftMs), () => late.abort("late"));
  const signal = AbortSignal.any([run.signal, late.signal]);
  const count = await inTime(run.invocation, models.countTokens({ step, op: run.job.op, params }, signal));
  cancelTimer();

  counts.set(model, count !== "late" && count.kind === "counted" ? count.tokens : undefined);
  if (count !== "late" && count.kind === "unknown" && run.cutBy === undefined)
    run.note({ kind: "trouble", what: "count tokens", error: count.name }, step.name);
}
