import type { Op } from "../core/config.ts";
import type { JobRow } from "../core/claim.ts";
import type { Clock, JobTable } from "../ports.ts";
import type { ReplyOf } from "./job.ts";

const pollMsFirst = 200;
const pollMsMax = 5_000;
const timeoutMsDefault = 60_000;

/** `stage` is absent as long as no worker has seen the job. */
export type Waited<O extends Op> =
  | { readonly kind: "replied"; readonly reply: ReplyOf<O> }
  | { readonly kind: "timeout"; readonly stage?: string };

/** A job as the table has it now. */
export type Found<O extends Op> = { readonly jobId: string } & (
  | { readonly kind: "replied"; readonly reply: ReplyOf<O> }
  | { readonly kind: "open"; readonly stage?: string }
);

export interface WaitOptions {
  /** 60,000 without it. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export async function waitForReply<O extends Op>(
  jobId: string,
  { timeoutMs = timeoutMsDefault, signal }: WaitOptions,
  jobs: JobTable,
  clock: Clock,
): Promise<Waited<O>> {
  const untilMs = clock.nowMs() + timeoutMs;
  for (let delayMs = pollMsFirst; ; delayMs = Math.min(delayMs * 1.5, pollMsMax)) {
    signal?.throwIfAborted();
    const row = await jobs.read(jobId);
    const reply = storedReply<O>(row);
    if (reply !== undefined) return { kind: "replied", reply };

    // The last sleep ends with the time, so a read always follows it: a reply that came in time is never missed.
    const leftMs = untilMs - clock.nowMs();
    if (!(leftMs > 0)) return { kind: "timeout", ...stageOf(row) };
    await clock.sleep(Math.min(delayMs, leftMs), signal);
  }
}

/** In the order of the ids. */
export async function replies<O extends Op>(jobIds: readonly string[], jobs: JobTable): Promise<readonly Found<O>[]> {
  const rows = new Map((await jobs.readMany(jobIds)).map((row) => [row.jobId, row]));
  return jobIds.map((jobId) => {
    const row = rows.get(jobId);
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
