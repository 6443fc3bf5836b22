import type { Delivery, Job } from "../core/job.ts";
import { plan } from "../core/plan.ts";
import type { Step } from "../core/plan.ts";
import type { ReplyError } from "../core/reply.ts";
import { releaseVerdict } from "../core/claim.ts";
import { mayWaitUnclaimed, noRoomDelayS, pausedForMs, releaseNext, requeueDelayS } from "../core/release.ts";
import { endings } from "../core/endings.ts";
import { claimRecord, settleOthers } from "./claim-record.ts";
import { hidingFacts } from "./hiding-facts.ts";
import { inTime } from "./in-time.ts";
import type { Invocation, Worker } from "./invocation.ts";
import { openDelivery } from "./open-delivery.ts";
import { paramsOf } from "./params-of.ts";
import { failed } from "./replies.ts";
import { runPlan } from "./run-plan.ts";
import { settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";
import { standingOf } from "./standing.ts";

/** From the SQS record to its end: envelope → plan → claim → run → settlement. */
export async function processRecord(invocation: Invocation, delivery: Delivery): Promise<Settled> {
  const { world } = invocation.worker;
  const { messageId, lane, receives, enqueuedAtMs } = delivery;
  invocation.meter.set(delivery, "working");
  const jobAgeMs = Math.max(0, world.clock.nowMs() - enqueuedAtMs);
  world.telemetry.note({ kind: "delivered", messageId, lane, receives, jobAgeMs });

  const opened = await openDelivery(invocation, delivery);
  switch (opened.kind) {
    case "settled":
      return opened.settled;
    case "disallowed":
      return release(invocation, delivery, opened.job, endings.invalidEnvelope(opened.fault));
    case "job":
      return invocation.tasks.during(opened.job, delivery, () => processJob(invocation, delivery, opened.job));
  }
}

/** From the job to its end, or to its message's return to the queue. */
async function processJob(invocation: Invocation, delivery: Delivery, job: Job): Promise<Settled> {
  const { board, config } = invocation.worker;
  const planned = plan(job, config);
  if (planned.kind === "unknown-model")
    return release(invocation, delivery, job, endings.notConfigured(planned.name), planned.name);
  // What was paused when this worker last looked may have been let go since, and only a look tells.
  if (pauseOf(invocation.worker, job, planned.steps).pausedMs > 0) await inTime(invocation, board.read());
  const pause = pauseOf(invocation.worker, job, planned.steps);
  const hiding = hidingFacts(invocation, delivery, job);
  if (mayWaitUnclaimed(job.lane, pause, hiding.deadlineLeftMs)) {
    const { pausedMs, why } = pause;
    const delayS = requeueDelayS({ ...hiding, cause: why, requeues: 0, knownWaitMs: pausedMs });
    return settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why });
  }
  return claimRecord(invocation, delivery, job, async (run) => {
    const params = await paramsOf(run);
    switch (params.kind) {
      case "found":
        return runPlan(run, planned.steps, params.params);
      case "missing":
        return failed(run, endings.paramsMissing(params.why));
      case "no-room":
        return { kind: "requeue", delayS: noRoomDelayS(hidingFacts(invocation, delivery, job)), cause: "memory" };
    }
  });
}

/** How long nothing can be tried for the job, as far as is known: until its earliest step is free, in a lane that is. */
function pauseOf(worker: Worker, job: Job, steps: readonly Step[]) {
  const { board, budgets, world } = worker;
  const nowMs = world.clock.nowMs();
  const laneMs = pausedForMs([board.overrides.lanes.get(job.lane)?.pausedUntilMs], nowMs);
  const open = steps.map((step) => standingOf(worker, job, step)).filter(({ takenOut }) => takenOut !== true);
  const untilMs = open.map(({ pausedUntilMs }) => pausedUntilMs);
  const pausedMs = open.length === 0 ? laneMs : pausedForMs(untilMs, nowMs);
  const budgetMs = pausedForMs([budgets.pauseOf(job.lane)?.untilMs], nowMs);
  const why = budgetMs > 0 ? ("budget" as const) : ("paused" as const);
  return { pausedMs: Math.max(pausedMs, budgetMs), why, lanePaused: laneMs > 0 };
}

/** What this worker's config does not have, a model above all, another version's may: the message waits for that. */
async function release(
  invocation: Invocation,
  delivery: Delivery,
  job: Job,
  error: ReplyError,
  model?: string,
): Promise<Settled> {
  const { jobs, clock, telemetry } = invocation.worker.world;
  const ask = { ...job, nowMs: clock.nowMs() };
  const says = releaseVerdict(await jobs.countRelease(ask), ask);
  if (says.kind !== "counted") return settleOthers(invocation, delivery, job, says);

  const { releases } = says;
  const next = releaseNext({ ...hidingFacts(invocation, delivery, job), releases: releases - 1 });
  switch (next.kind) {
    case "release": {
      const { jobId, lane } = job;
      const { delayS } = next;
      if (model !== undefined) telemetry.note({ kind: "unknown-model", jobId, lane, name: model, releases, delayS });
      return settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why: "released" });
    }
    case "answer":
      return claimRecord(invocation, delivery, job, async (run) => failed(run, error));
  }
}
