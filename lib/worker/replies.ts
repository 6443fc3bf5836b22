import { moreOf } from "../core/claim.ts";
import { endings } from "../core/endings.ts";
import type { Fault } from "../core/envelope.ts";
import type { Delivery } from "../core/job.ts";
import type { UnstoredReply } from "../core/outbox.ts";
import type { Tags } from "../core/noted.ts";
import type { Step } from "../core/plan.ts";
import { endingOf, noMeta, replyOf } from "../core/reply.ts";
import type { Ending, Reply, ReplyError, ReplyMeta } from "../core/reply.ts";
import { traceOf } from "../core/trace.ts";
import type { Settlement } from "../core/settlement.ts";
import type { World } from "../ports.ts";
import type { Worker } from "./invocation.ts";
import type { Run } from "./run.ts";

/** The settlement of a job that has its final answer. */
export type JobReply = Extract<Settlement, { readonly kind: "reply" }>;

/** The end of a claimed job, with the story of all its deliveries. `step`: the one that answered. */
export function endedAs(run: Run, ending: Ending, step?: Step): JobReply {
  return { kind: "reply", reply: replyOf(run.job, ending, metaOf(run, step)) };
}

export function failed(run: Run, error: ReplyError): JobReply {
  return endedAs(run, endingOf(error));
}

/** The reply that this container kept for the job, with the story that it tells: it was paid for, and is not asked for again. */
export function answeredBefore(run: Run, kept: UnstoredReply): JobReply {
  run.add(moreOf(run.progress, kept.progress));
  const reply: Reply = JSON.parse(kept.reply);
  return { kind: "reply", reply };
}

/** The reply to an envelope that can be named but not run. */
export function invalidEnvelope(
  worker: Worker,
  delivery: Delivery,
  { jobId = "", metadata = {} }: Partial<Pick<Reply, "jobId" | "metadata">>,
  fault: Fault,
): Reply {
  const waitedMs = Math.max(0, worker.world.clock.nowMs() - delivery.enqueuedAtMs);
  const meta: ReplyMeta = {
    ...noMeta,
    deliveries: delivery.receives,
    queueMs: waitedMs,
    totalMs: waitedMs,
    worker: worker.name,
    workerVersion: worker.version,
    ...traced(delivery),
  };
  return replyOf({ jobId, metadata }, { kind: "failed", error: endings.invalidEnvelope(fault) }, meta);
}

export function noteReply({ telemetry }: Pick<World, "telemetry">, reply: Reply, tags: Tags): void {
  const { totalMs, sleptMs, leaseWaitMs, fallbackUsed } = reply.meta;
  telemetry.note({
    ...tags,
    kind: "replied",
    status: reply.status,
    ...(reply.status === "succeeded" ? {} : { code: reply.error.code }),
    totalMs,
    sleptMs,
    leaseWaitMs,
    fallbackUsed,
  });
}

function metaOf(run: Run, step: Step | undefined): ReplyMeta {
  const { claimedAtMs, delivery, invocation, job, progress } = run;
  const { name, version, world } = invocation.worker;
  return {
    model: step?.model ?? job.model,
    ...(step === undefined ? {} : { target: step.target, modelId: step.modelId }),
    fallbackUsed: step !== undefined && step.name !== run.firstStep,
    attempts: progress.requests,
    deliveries: delivery.receives,
    queueMs: Math.max(0, claimedAtMs - job.enqueuedAtMs),
    leaseWaitMs: progress.leaseWaitMs,
    providerMs: progress.providerMs,
    totalMs: Math.max(0, world.clock.nowMs() - job.enqueuedAtMs),
    sleptMs: progress.sleptMs,
    usage: progress.usage,
    steps: run.steps,
    worker: name,
    workerVersion: version,
    ...traced(delivery),
  };
}

function traced({ traceHeader }: Delivery): Pick<ReplyMeta, "trace"> {
  const trace = traceOf(traceHeader);
  return trace === undefined ? {} : { trace };
}
