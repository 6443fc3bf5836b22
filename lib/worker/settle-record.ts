import { afterGiveBack, isAnswered } from "../core/claim.ts";
import type { Answered } from "../core/claim.ts";
import { endings } from "../core/endings.ts";
import { errorName } from "../core/error-name.ts";
import type { Delivery, Job } from "../core/job.ts";
import type { Tags } from "../core/noted.ts";
import { requeueDelayS } from "../core/release.ts";
import { isAllowed } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import {
  attemptsPerLifeMax,
  claimGraceMs,
  holdMs,
  requeueDeadlineLeftMsMin,
  rowReplyBytesMax,
} from "../core/limits.ts";
import { replyText, replyTtlS } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import type { Settlement, Unclaimed } from "../core/settlement.ts";
import { announce, owe } from "./announce.ts";
import type { Announceable } from "./announce.ts";
import { hidingFacts } from "./hiding-facts.ts";
import { inTime, lastTry } from "./in-time.ts";
import type { Bound } from "./in-time.ts";
import { insist } from "./insist.ts";
import type { Invocation } from "./invocation.ts";
import { endedAs, failed, noteReply } from "./replies.ts";
import type { Run } from "./run.ts";
import { storeReply } from "./store-reply.ts";

/** What the batch response says of a record: deleted by Lambda, or handed out again. */
export type Settled = "acknowledged" | "again";

/** Ends a record that holds no claim. */
export async function settleUnclaimed(invocation: Invocation, delivery: Delivery, end: Unclaimed): Promise<Settled> {
  const { queue, telemetry } = invocation.worker.world;
  const { messageId } = delivery;
  switch (end.kind) {
    case "acknowledge":
      invocation.visibility.forget(delivery);
      return "acknowledged";
    case "hide": {
      const { jobId } = invocation.jobs.get(messageId) ?? {};
      const job = jobId === undefined ? {} : { jobId };
      telemetry.note({ ...job, kind: "hidden", messageId, lane: delivery.lane, why: end.why, delayS: end.delayS });
      await inTime(invocation, invocation.visibility.hide(delivery, end.delayS));
      return "again";
    }
    case "park": {
      const job = end.jobId === undefined ? {} : { jobId: end.jobId };
      await queue.park({ ...delivery, ...job }, end.reason, end.detail);
      telemetry.note({ ...job, kind: "parked", messageId, lane: delivery.lane, reason: end.reason });
      invocation.visibility.forget(delivery);
      return "acknowledged";
    }
  }
}

/** Ends a claimed job: the row first, then the message, then the report. */
export async function settleRun(run: Run, settlement: Settlement): Promise<Settled> {
  switch (settlement.kind) {
    case "reply":
      return settleReply(run, settlement.reply);
    case "requeue":
      return requeue(run, settlement);
    case "lost":
      return lost(run);
  }
}

function lost(run: Run): Settled {
  run.invocation.worker.world.telemetry.note({ ...run.tags, kind: "claim-lost" });
  run.invocation.visibility.forget(run.delivery);
  return "again";
}

function done(run: Run, row: Answered): Promise<Settled> {
  run.invocation.worker.world.telemetry.note({ ...run.tags, kind: "duplicate", why: "done" });
  const { metadata, replyTo } = run.job;
  return settleAnswered(run.invocation, run.delivery, { ...row, metadata }, replyTo, run.tags);
}

/** Ends a record whose job has its reply: the message goes when he who waits has been told, or the sweeper owes it to him. */
export async function settleAnswered(
  invocation: Invocation,
  delivery: Delivery,
  reply: Announceable,
  to: ReplyTo | undefined,
  tags: Tags,
): Promise<Settled> {
  const { config, kept, world } = invocation.worker;
  kept.forget(reply.jobId);
  // Another version's config knows him: the sweeper owes it to him, and that version's will tell.
  const isKnown = to === undefined || isAllowed(to, config.replies.allow);
  const bound: Bound = (act) => lastTry(invocation, act);
  const isTold = isKnown ? await announce(world, reply, to, tags, bound) : await owe(world, reply, to, tags, bound);
  invocation.visibility.forget(delivery);
  return isTold ? "acknowledged" : "again";
}

/** Gives the claim back. Where the table refuses that, the row says how the record ends instead. */
export async function giveBack(run: Run, notBeforeMs: number): Promise<Settled | "given-back"> {
  const { clock, jobs, telemetry } = run.invocation.worker.world;
  const { job, progress, stageRow: stage } = run;
  const ask = { nowMs: clock.nowMs(), notBeforeMs, progress, stage, ...replyToOf(job) };
  const given = await insist(
    run,
    () => jobs.giveBack(run.claim, ask),
    (error) => telemetry.note({ ...run.tags, kind: "trouble", what: "give back the claim", error }),
  );
  // Unanswered, the claim lapses by itself; only the progress of this delivery is lost with it.
  if (given === undefined || given.kind === "owned") return "given-back";
  const end = afterGiveBack(given.row, run.claim);
  switch (end.kind) {
    case "given-back":
      return end.kind;
    case "cancelled":
      return settleRun(run, endedAs(run, { kind: "cancelled" }));
    case "done":
      return done(run, end.row);
    case "lost":
      return lost(run);
  }
}

function replyToOf({ replyTo }: Job) {
  return replyTo === undefined ? {} : { replyTo };
}

async function requeue(run: Run, { delayS, cause }: Settlement & { kind: "requeue" }): Promise<Settled> {
  const { clock, telemetry } = run.invocation.worker.world;
  const notBeforeMs = clock.nowMs() + delayS * 1_000;
  run.show({ kind: "requeued", untilMs: notBeforeMs, cause });
  const given = await giveBack(run, notBeforeMs);
  if (given !== "given-back") return given;
  telemetry.note({ ...run.tags, kind: "requeued", cause, delayS });
  await inTime(run.invocation, run.invocation.visibility.hide(run.delivery, delayS));
  return "again";
}

/**
 * Only this container has the reply: the message comes again to look for it. A claim that lapsed would count as a crash,
 * so it is given back where the table takes that; a table that is away is not asked twice.
 */
async function comeAgain(run: Run): Promise<Settled> {
  const { invocation, delivery, job } = run;
  const { kept, world } = invocation.worker;
  const { clock, jobs, telemetry } = world;
  const hiding = hidingFacts(invocation, delivery, job);
  // With its life or its time used up the job would be paid for once more by each container that does not have it.
  const isOver = run.progress.attempts >= attemptsPerLifeMax || hiding.deadlineLeftMs <= requeueDeadlineLeftMsMin;
  const bytes = Buffer.byteLength(kept.of(job.jobId, job.contentHash)?.reply ?? "");
  if (isOver && bytes > rowReplyBytesMax && (await isEnded(run, failed(run, endings.unstorable()).reply)))
    return "acknowledged";
  const { requeues } = run.progress;
  run.add({ requeues: requeues + 1 });
  // No sooner than the claim would have lapsed: until then nobody else may ask again for what is answered.
  const delayS = Math.max(requeueDelayS({ ...hiding, cause: "trouble", requeues }), (holdMs + claimGraceMs) / 1_000);
  const nowMs = clock.nowMs();
  const notBeforeMs = nowMs + delayS * 1_000;
  run.show({ kind: "requeued", untilMs: notBeforeMs, cause: "trouble" });
  const ask = { nowMs, notBeforeMs, progress: run.progress, stage: run.stageRow, ...replyToOf(job) };
  try {
    await lastTry(invocation, () => jobs.giveBack(run.claim, ask));
    await inTime(invocation, invocation.visibility.hide(delivery, delayS));
  } catch (error) {
    telemetry.note({ ...run.tags, kind: "trouble", what: "give back the claim", error: errorName(error) });
    invocation.visibility.forget(delivery);
  }
  return "again";
}

/** An error in the place of an answer that nothing can hold; false where the table is away, for then it may be held yet. */
async function isEnded(run: Run, reply: Reply): Promise<boolean> {
  const { config, kept, world } = run.invocation.worker;
  const nowMs = world.clock.nowMs();
  const ttlS = replyTtlS(nowMs, config.replies.ttlDays);
  const ask = { nowMs, reply: replyText(reply), status: reply.status, ttlS, progress: run.progress };
  const completed = await lastTry(run.invocation, () => world.jobs.complete(run.claim, ask)).catch(() => undefined);
  if (completed?.kind !== "stored") return false;
  noteReply(world, reply, run.tags);
  kept.forget(run.job.jobId);
  const stored = { jobId: run.job.jobId, reply: ask.reply, announced: [] };
  return (await settleAnswered(run.invocation, run.delivery, stored, run.job.replyTo, run.tags)) === "acknowledged";
}

async function settleReply(run: Run, reply: Reply): Promise<Settled> {
  const { delivery, invocation, job } = run;
  const { worker } = invocation;
  run.show({ kind: "ended", status: reply.status });
  const place = await storeReply(run, reply);
  switch (place.kind) {
    case "stored":
      noteReply(worker.world, reply, run.tags);
      return settleAnswered(
        invocation,
        delivery,
        { jobId: job.jobId, reply: place.text, announced: [] },
        job.replyTo,
        run.tags,
      );
    case "queued":
      // The reply-store tells whoever waits.
      invocation.visibility.forget(delivery);
      return "acknowledged";
    case "kept":
      return comeAgain(run);
    case "lost":
      return isAnswered(place.row) ? done(run, place.row) : lost(run);
  }
}
