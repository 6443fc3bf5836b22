import { verdict } from "../core/claim.ts";
import type { ClaimAsk, JobRow } from "../core/claim.ts";
import { endings } from "../core/endings.ts";
import type { Delivery, Job } from "../core/job.ts";
import { holdMs } from "../core/limits.ts";
import { hasCode } from "../core/reply.ts";
import { inFlight, settleOthers, whileRunning } from "./claim-record.ts";
import type { Invocation, Worker } from "./invocation.ts";
import { openDelivery } from "./open-delivery.ts";
import { processBatch } from "./process-batch.ts";
import { endedAs, failed } from "./replies.ts";
import { Run } from "./run.ts";
import { settleRun, settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";

/**
 * Ends the jobs whose messages SQS gave up, and parks the messages. `worker`'s queue is a lane's dead-letter queue, which
 * has none of its own: what cannot be ended now comes again. Answers the message ids that must.
 */
export function processDeadLetters(worker: Worker, records: readonly Delivery[], endsAtMs: number): Promise<string[]> {
  const deliveries = records.map((delivery) => ({ ...delivery, isDead: true }));
  return processBatch(worker, deliveries, endsAtMs, endDeadLetter);
}

/** The reply first, told to whoever waits, then the parked copy, then the acknowledgement: whoever dies in between begins again. */
async function endDeadLetter(invocation: Invocation, delivery: Delivery): Promise<Settled> {
  const { name, world } = invocation.worker;
  const opened = await openDelivery(invocation, delivery);
  if (opened.kind === "settled") return opened.settled;
  const { job } = opened;

  const nowMs = world.clock.nowMs();
  const holding = { holder: world.clock.newId(), nowMs, heldUntilMs: nowMs + holdMs };
  // Nobody will run the job when its requeue's delay has passed.
  const ask: ClaimAsk = { ...job, ...holding, worker: name, early: true };
  const says = verdict(await world.jobs.claim(ask), ask, world.clock.nowMs());
  if (!("claim" in says)) {
    const settled = await settleOthers(invocation, delivery, job, says);
    const mayBeUnparked = says.kind === "done" && hasCode(says.row.reply, "dead_lettered");
    return settled === "acknowledged" && mayBeUnparked ? park(invocation, delivery, job, says.row) : settled;
  }

  const run = new Run(invocation, delivery, job, says.claim, says.row, ask.heldUntilMs);
  const isCancelled = says.kind === "cancelled";
  const error = endings.deadLettered(inFlight(says.row), delivery.receives);
  const end = isCancelled ? endedAs(run, { kind: "cancelled" }) : failed(run, error);
  const settled = await whileRunning(run, () => settleRun(run, end));
  if (settled === "again" || isCancelled) return settled;

  // The replies queue may have it; or another was faster, and its reply stands.
  const { reply } = (await world.jobs.read(job.jobId)) ?? {};
  const isAnotherS = reply !== undefined && !hasCode(reply, "dead_lettered");
  return isAnotherS ? settled : park(invocation, delivery, job, says.row);
}

function park(invocation: Invocation, delivery: Delivery, { jobId }: Job, row: JobRow): Promise<Settled> {
  const detail = `last at ${inFlight(row)}, received ${delivery.receives} times`;
  return settleUnclaimed(invocation, delivery, { kind: "park", reason: "dead_lettered", detail, jobId });
}
