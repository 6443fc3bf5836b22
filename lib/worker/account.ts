import { addUsage, spendsLife } from "../core/attempt.ts";
import { chargeNanoUsd } from "../core/budget.ts";
import type { Attempted } from "../core/attempt.ts";
import type { Step } from "../core/plan.ts";
import { costUsd } from "../core/reply.ts";
import type { Run } from "./run.ts";

/** Adds an attempt up: in the job's budgets, in its lane's, and in the metrics. */
export function account(run: Run, step: Step, tried: Attempted & { readonly asProbe: boolean }): void {
  const { attempts, requests, providerMs, usage } = run.progress;
  run.add({
    attempts: attempts + (spendsLife(tried, tried.asProbe) ? 1 : 0),
    requests: requests + 1,
    providerMs: providerMs + tried.tookMs,
    usage: addUsage(usage, tried.usage),
  });
  const { invocation, job } = run;
  if (step.price !== undefined)
    invocation.worker.budgets.charge(job.lane, chargeNanoUsd(tried.usage, step.price), invocation.lastCallAtMs);
  run.note(
    {
      kind: "attempted",
      outcome: tried.kind === "failed" ? tried.failure.kind : tried.kind,
      name:
        tried.kind === "failed"
          ? tried.failure.name
          : tried.kind === "cut"
            ? tried.by
            : (tried.stopReason ?? "answered"),
      tookMs: tried.tookMs,
      usage: tried.usage,
      ...(step.price === undefined ? {} : { costUsd: costUsd(tried.usage, step.price) }),
    },
    step.name,
  );
}
