import type { Completed } from "../core/claim.ts";
import { errorName } from "../core/error-name.ts";
import { afterGiveBack } from "../core/claim.ts";
import type { Delivery } from "../core/job.ts";
import { storeMsMax, storeRetryMs } from "../core/limits.ts";
import type { Reply } from "../core/reply.ts";
import { replyText, replyTtlS } from "../core/reply.ts";
import type { Settlement, Unclaimed } from "../core/settlement.ts";
import { inTime, lastTry } from "./in-time.ts";
import type { Invocation } from "./invocation.ts";
import { endedAs } from "./replies.ts";
import type { Run } from "./run.ts";

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
    case "hide":
      telemetry.note({ kind: "hidden", messageId, lane: delivery.lane, why: end.why, delayS: end.delayS });
      await inTime(invocation, invocation.visibility.hide(delivery, end.delayS));
      return "again";
    case "park":
      await queue.park(delivery, end.reason, end.detail);
      telemetry.note({ kind: "parked", messageId, lane: delivery.lane, reason: end.reason });
      invocation.visibility.forget(delivery);
      return "acknowledged";
  }
}

/** Ends a claimed job: the row first, then the message, then the report. */
export async function settleRun(run: Run, settlement: Settlement): Promise<Settled> {
  switch (settlement.kind) {
    case "reply":
      return storeReply(run, settlement.reply);
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

function done(run: Run): Settled {
  run.invocation.worker.world.telemetry.note({ ...run.tags, kind: "duplicate", why: "done" });
  run.invocation.visibility.forget(run.delivery);
  return "acknowledged";
}

/** Gives the claim back. Where the table refuses that, the row says how the record ends instead. */
export async function giveBack(run: Run, notBeforeMs: number): Promise<Settled | "given-back"> {
  const { clock, jobs, telemetry } = run.invocation.worker.world;
  const ask = { nowMs: clock.nowMs(), notBeforeMs, progress: run.progress, stage: run.stageRow };
  const given = await insist(
    run,
    () => jobs.giveBack(run.claim, ask),
    (error) => telemetry.note({ ...run.tags, kind: "trouble", what: "give back the claim", error }),
  );
  // Unanswered, the claim lapses by itself; only the progress of this delivery is lost with it.
  const end = given === undefined || given.kind === "owned" ? "given-back" : afterGiveBack(given.row, run.claim);
  switch (end) {
    case "given-back":
      return end;
    case "cancelled":
      return settleRun(run, endedAs(run, { kind: "cancelled" }));
    case "done":
      return done(run);
    case "lost":
      return lost(run);
  }
}

async function requeue(run: Run, { delayS, cause }: Settlement & { kind: "requeue" }): Promise<Settled> {
  const { clock, telemetry } = run.invocation.worker.world;
  const notBeforeMs = clock.nowMs() + delayS * 1_000;
  run.show({ kind: "requeued", untilMs: notBeforeMs });
  const given = await giveBack(run, notBeforeMs);
  if (given !== "given-back") return given;
  telemetry.note({ ...run.tags, kind: "requeued", cause, delayS });
  await inTime(run.invocation, run.invocation.visibility.hide(run.delivery, delayS));
  return "again";
}

/** One conditional write: one winner, ever. */
async function storeReply(run: Run, reply: Reply): Promise<Settled> {
  const { telemetry } = run.invocation.worker.world;
  run.show({ kind: "ended", status: reply.status });
  const text = await fitForRow(run, reply);
  const completed = await insist(
    run,
    () => complete(run, reply, text),
    (error) => telemetry.note({ ...run.tags, kind: "reply-store-failed", error }),
  );
  if (completed?.kind === "stored") {
    noteReply(run, reply);
    run.invocation.visibility.forget(run.delivery);
    return "acknowledged";
  }
  return completed?.row?.reply === undefined ? lost(run) : done(run);
}

/** A write is tried until it is answered: every 0.5 s for 5 s, or until the bell, and then once more. */
async function insist<T>(
  { invocation }: Run,
  act: () => Promise<T>,
  failed: (error: string) => void,
): Promise<T | undefined> {
  const { clock } = invocation.worker.world;
  const triedUntilMs = clock.nowMs() + storeMsMax;
  for (;;) {
    const isLast = invocation.bellHasRung;
    try {
      return await lastTry(invocation, act);
    } catch (error) {
      failed(errorName(error));
      const isOver = invocation.bellHasRung ? isLast : clock.nowMs() + storeRetryMs > triedUntilMs;
      if (isOver) return undefined;
      await clock.sleep(storeRetryMs);
    }
  }
}

function complete(run: Run, reply: Reply, text: string): Promise<Completed> {
  const { config, world } = run.invocation.worker;
  const nowMs = world.clock.nowMs();
  return world.jobs.complete(run.claim, {
    nowMs,
    reply: text,
    status: reply.status,
    ttlS: replyTtlS(nowMs, config.replies.ttlDays),
    progress: run.progress,
  });
}

/** A big output goes to S3 before the row is written; with S3 down it stays inline, while the row takes it. */
async function fitForRow(run: Run, reply: Reply): Promise<string> {
  const { config, world } = run.invocation.worker;
  const text = replyText(reply);
  if (!("output" in reply) || Buffer.byteLength(text) <= config.replies.inlineBytesMax) return text;
  try {
    const { output, ...rest } = reply;
    const outputRef = await lastTry(run.invocation, () => world.objects.putOutput(reply.jobId, replyText(output)));
    return replyText({ ...rest, outputRef });
  } catch (error) {
    world.telemetry.note({ ...run.tags, kind: "trouble", what: "store the output in S3", error: errorName(error) });
    return text;
  }
}

function noteReply(run: Run, reply: Reply): void {
  const { totalMs, sleptMs, leaseWaitMs, fallbackUsed } = reply.meta;
  run.invocation.worker.world.telemetry.note({
    ...run.tags,
    kind: "replied",
    status: reply.status,
    ...(reply.ok ? {} : { code: reply.error.code }),
    totalMs,
    sleptMs,
    leaseWaitMs,
    fallbackUsed,
  });
}
