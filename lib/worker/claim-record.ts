import { errorName } from "../core/error-name.ts";
import { verdict } from "../core/claim.ts";
import type { Claim, ClaimAsk, JobRow, Verdict } from "../core/claim.ts";
import { endings } from "../core/endings.ts";
import { faultOf } from "../core/envelope.ts";
import type { Delivery, Job } from "../core/job.ts";
import { bugsMax, holdMs } from "../core/limits.ts";
import { againDelayS, heldDelayS, notBegunDelayS, notYetDelayS } from "../core/release.ts";
import type { Settlement, Unclaimed } from "../core/settlement.ts";
import { hidingFacts } from "./hiding-facts.ts";
import type { Invocation } from "./invocation.ts";
import { refuseTask } from "./refuse-task.ts";
import { answeredBefore, endedAs, failed } from "./replies.ts";
import { Run } from "./run.ts";
import { giveBack, settleAnswered, settleRun, settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";
import { isInfrastructure, troubleOf } from "./trouble.ts";

/** What is done under a claim; it answers how the job goes on. */
type Act = (run: Run) => Promise<Settlement>;

/** The verdicts under which the job is not ours. */
type Others = Exclude<Verdict, { readonly claim: Claim }>;

/** Takes the claim and acts under it. A claim that another has, or that comes too late or too early, ends the record. */
export async function claimRecord(invocation: Invocation, delivery: Delivery, job: Job, act: Act): Promise<Settled> {
  const { board, name, world } = invocation.worker;
  for (let alone = false; ; alone = true) {
    const nowMs = world.clock.nowMs();
    const ask: ClaimAsk = { ...job, holder: world.clock.newId(), nowMs, heldUntilMs: nowMs + holdMs, worker: name };
    void board.read(); // beside the claim: the first step waits for the same request
    const says = verdict(await world.jobs.claim(ask), ask, world.clock.nowMs());
    if (!("claim" in says)) return settleOthers(invocation, delivery, job, says);

    const run = new Run(invocation, delivery, job, says.claim, says.row, ask.heldUntilMs);
    const settled = await whileRunning(run, async () => {
      world.telemetry.note({ ...run.tags, kind: "claimed", queueMs: Math.max(0, nowMs - job.enqueuedAtMs) });
      const kept = invocation.worker.kept.of(job.jobId, job.contentHash);
      if (kept !== undefined && says.kind !== "cancelled") return settleRun(run, answeredBefore(run, kept));
      switch (says.kind) {
        case "cancelled":
          return settleRun(run, endedAs(run, { kind: "cancelled" }));
        case "expired":
          return settleRun(run, endedAs(run, { kind: "expired" }));
        case "poisoned":
          return settleRun(run, failed(run, endings.crashed(inFlight(says.row))));
        case "run":
          // A poison job's claim goes back at once; it is taken again when nothing else runs.
          if (says.crashes >= 2 && !alone) return giveBack(run, world.clock.nowMs());
          return settleRun(run, await inTurn(run, says.crashes, act));
      }
    });
    if (settled !== "given-back") return settled;

    // Whoever dies next in this invocation does not drive this job's crashes up.
    invocation.meter.set(delivery, "waiting");
    const overdue = new AbortController();
    const cancelEnd = world.clock.after(job.deadlineAtMs - world.clock.nowMs(), () => overdue.abort());
    const turn = await invocation.turns.alone(overdue.signal);
    cancelEnd();
    if (turn === "closed") return hide(invocation, delivery, notBegunS(run), "turn");
    invocation.meter.set(delivery, "working");
  }
}

/** The heartbeat beats and the bell rings for a run for exactly as long. */
export async function whileRunning<T>(run: Run, act: () => Promise<T>): Promise<T> {
  run.invocation.running.add(run);
  if (run.invocation.bellHasRung) run.cut("bell");
  try {
    return await act();
  } finally {
    run.invocation.running.delete(run);
    run.close();
  }
}

/** Runs the job, a fresh one at once, one that crashed before after the fresh ones. A throw of ours is counted. */
async function inTurn(run: Run, crashes: number, act: Act): Promise<Settlement> {
  const { invocation } = run;
  if (crashes === 1) {
    invocation.meter.set(run.delivery, "waiting");
    const cancelEnd = run.clock.after(run.job.deadlineAtMs - run.clock.nowMs(), () => run.cut("deadline"));
    const turn = await invocation.turns.afterTheFresh(run.signal);
    cancelEnd();
    if (turn === "closed") return { kind: "requeue", delayS: notBegunS(run), cause: "bell" };
    invocation.meter.set(run.delivery, "working");
  }
  try {
    return await act(run);
  } catch (error) {
    return afterThrow(run, error);
  }
}

/** What failed below us never answers a job. A bug of ours does, at its third time: it would fail for ever. */
function afterThrow(run: Run, error: unknown): Settlement {
  const { telemetry } = run.invocation.worker.world;
  const delayS = againDelayS(hidingFacts(run.invocation, run.delivery, run.job));
  telemetry.note({ ...run.tags, ...troubleOf("run", error) });
  if (isInfrastructure(error)) return { kind: "requeue", delayS, cause: "trouble" };
  const bugs = run.progress.bugs + 1;
  run.add({ bugs });
  if (bugs >= bugsMax) return failed(run, endings.internal(errorName(error)));
  return { kind: "requeue", delayS, cause: "trouble" };
}

/** The end of a record whose job another has, or whose time has not come. */
export async function settleOthers(
  invocation: Invocation,
  delivery: Delivery,
  job: Job,
  says: Others,
): Promise<Settled> {
  const { jobId, lane } = job;
  const { telemetry } = invocation.worker.world;
  const hiding = hidingFacts(invocation, delivery, job);
  switch (says.kind) {
    case "conflict": {
      const message = "a job with this id and other content came first; send this one under an id of its own";
      const detail = `jobId: ${message}`;
      await refuseTask(invocation, delivery, job, faultOf("jobId", `is taken: ${message}`));
      return settleUnclaimed(invocation, delivery, { kind: "park", reason: "job_id_reused", detail, jobId });
    }
    case "newer":
      return hide(invocation, delivery, heldDelayS(hiding), "released");
    case "done":
      telemetry.note({ kind: "duplicate", jobId, lane, why: "done" });
      return settleAnswered(invocation, delivery, { ...says.row, metadata: job.metadata }, job.replyTo, {
        jobId,
        lane,
      });
    case "held":
      telemetry.note({ kind: "duplicate", jobId, lane, why: "held" });
      return hide(invocation, delivery, heldDelayS({ ...hiding, ...says }), "held");
    case "not-yet":
      return hide(invocation, delivery, notYetDelayS({ ...hiding, ...says }), "not-yet");
    case "again":
      return hide(invocation, delivery, notBegunDelayS(hiding), "held");
  }
}

function hide(
  invocation: Invocation,
  delivery: Delivery,
  delayS: number,
  why: (Unclaimed & { kind: "hide" })["why"],
): Promise<Settled> {
  return settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why });
}

function notBegunS({ invocation, delivery, job }: Run): number {
  return notBegunDelayS(hidingFacts(invocation, delivery, job));
}

/** What the last worker was doing when it died, as its row tells it. */
export function inFlight({ stageBefore = "claimed", step }: JobRow): string {
  return step === undefined ? stageBefore : `${stageBefore} on ${step}`;
}
