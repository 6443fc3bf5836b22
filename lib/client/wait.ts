import type { Op } from "../core/config.ts";
import type { JobRow } from "../core/claim.ts";
import type { Fault } from "../core/envelope.ts";
import type { Clock, JobTable } from "../ports.ts";
import { isMomentary } from "./is-momentary.ts";
import type { ReplyOf } from "./job.ts";
import { isAnothers } from "./meant.ts";
import type { Faulty, Meant } from "./meant.ts";

const pollMsFirst = 200;
const pollMsMax = 5_000;
const timeoutMsDefault = 60_000;

/** `stage` is absent as long as no worker has seen the job. */
export type Waited<O extends Op> =
  | { readonly kind: "replied"; readonly reply: ReplyOf<O> }
  | { readonly kind: "timeout"; readonly stage?: string };

/** The id was used for other content: the row is another job's, and this one never runs. Give it another jobId. */
export interface Conflict {
  readonly kind: "conflict";
}

/** A job as the table has it now. */
export type Found<O extends Op> = { readonly jobId: string } & (
  | { readonly kind: "replied"; readonly reply: ReplyOf<O> }
  | { readonly kind: "open"; readonly stage?: string }
);

/** The same of a job that was given whole, not by its id. */
export type FoundByJob<O extends Op> =
  | Found<O>
  | ({ readonly jobId: string } & (
      | Conflict
      /** It has a fault, and was never sent. */
      | { readonly kind: "refused"; readonly fault: Fault }
    ));

export interface WaitOptions {
  /** 60,000 without it. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export async function waitForReply<O extends Op>(
  job: Meant,
  { timeoutMs = timeoutMsDefault, signal }: WaitOptions,
  jobs: JobTable,
  clock: Clock,
): Promise<Waited<O> | Conflict> {
  const untilMs = clock.nowMs() + timeoutMs;
  let hasAnswered = false;
  for (let delayMs = pollMsFirst; ; delayMs = Math.min(delayMs * 1.5, pollMsMax)) {
    signal?.throwIfAborted();
    let row: JobRow | undefined;
    let trouble: { readonly error: unknown } | undefined;
    try {
      row = await jobs.read(job.jobId);
      hasAnswered = true;
    } catch (error) {
      if (!isMomentary(error, hasAnswered)) throw error;
      trouble = { error };
    }
    if (row !== undefined && isAnothers(row, job)) return { kind: "conflict" };
    const reply = storedReply<O>(row);
    if (reply !== undefined) return { kind: "replied", reply };

    // The last sleep ends with the time, so a read always follows it: a reply that came in time is never missed.
    const leftMs = untilMs - clock.nowMs();
    // Unless that read failed: then nobody knows, and a timeout would say that there was none.
    if (!(leftMs > 0) && trouble !== undefined) throw trouble.error;
    if (!(leftMs > 0)) return { kind: "timeout", ...stageOf(row) };
    await clock.sleep(Math.min(delayMs, leftMs), signal);
  }
}

/** In the order of the jobs. */
export async function replies<O extends Op>(
  list: readonly (Meant | Faulty)[],
  jobs: JobTable,
): Promise<readonly FoundByJob<O>[]> {
  const rows = new Map((await jobs.readMany(list.map(({ jobId }) => jobId))).map((row) => [row.jobId, row]));
  return list.map((job) => {
    const { jobId } = job;
    if ("fault" in job) return { jobId, kind: "refused", fault: job.fault };
    const row = rows.get(jobId);
    if (row !== undefined && isAnothers(row, job)) return { jobId, kind: "conflict" };
    const reply = storedReply<O>(row);
    return reply === undefined ? { jobId, kind: "open", ...stageOf(row) } : { jobId, kind: "replied", reply };
  });
}

/** The operation is the sender's knowledge: the row does not repeat it. */
export function storedReply<O extends Op>(row: JobRow | undefined): ReplyOf<O> | undefined {
  if (row?.reply === undefined) return undefined;
  const reply: ReplyOf<O> = JSON.parse(row.reply);
  return reply;
}

export function stageOf(row: JobRow | undefined): { readonly stage?: string } {
  return row?.stage === undefined ? {} : { stage: row.stage };
}
