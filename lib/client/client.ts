import type { Op } from "../core/config.ts";
import type { Clock, JobTable } from "../ports.ts";
import { cancel } from "./cancel.ts";
import type { Cancelled } from "./cancel.ts";
import { forget } from "./forget.ts";
import type { Forgotten } from "./forget.ts";
import type { Job, JobId, JobOf } from "./job.ts";
import type { Outbox } from "./outbox.ts";
import type { Outputs } from "./outputs.ts";
import { submit, submitBatch } from "./submit.ts";
import type { Submitted } from "./submit.ts";
import { replies, waitForReply } from "./wait.ts";
import type { Found, Waited, WaitOptions } from "./wait.ts";

export interface Client {
  /**
   * Sends one job; answers its id, which carries the type of its output to {@link Client.waitForReply}.
   * @throws JobRefused for a job with a fault, before anything is sent; the SDK's error if AWS did not take it.
   */
  submit<O extends Op>(job: JobOf<O>): Promise<JobId<O>>;
  /** Sends any number of jobs; one outcome each, in their order. A fault or a failure of one never stops the others. */
  submitBatch(jobs: readonly Job[]): Promise<readonly Submitted[]>;
  /**
   * Reads the job's row, ever less often, until it has its reply or the time is up.
   * @throws the signal's reason when it fires; the SDK's error if the table cannot be read.
   */
  waitForReply<O extends Op = Op>(jobId: JobId<O>, options?: WaitOptions): Promise<Waited<O>>;
  /** How each job stands now, in the order of the ids. */
  replies<O extends Op = Op>(jobIds: readonly JobId<O>[]): Promise<readonly Found<O>[]>;
  /** Ends a job that is not running, at once; asks the worker of one that is. The reply that was stored first stays. */
  cancel<O extends Op = Op>(jobId: JobId<O>): Promise<Cancelled<O>>;
  /**
   * Removes the content of a finished job: its output, in S3 too, its metadata, and the provider's own words. That it ended,
   * and how, stays, so that a copy of its message still runs nothing. Params lie in no row: those in S3 go by its lifecycle rules.
   * @throws the SDK's error if the table or S3 did not take it: begin again.
   */
  forget<O extends Op = Op>(jobId: JobId<O>): Promise<Forgotten>;
}

/** What a client needs of the world. */
export interface Outside {
  readonly outbox: Outbox;
  readonly jobs: JobTable;
  readonly outputs: Outputs;
  readonly clock: Clock;
  /** Where params go that are too big for a message. */
  readonly bucket?: string;
  /** How long a reply that the client writes itself is kept. */
  readonly ttlDays: number;
}

export function clientOn({ outbox, jobs, outputs, clock, bucket, ttlDays }: Outside): Client {
  return {
    submit: (job) => submit(job, outbox, bucket),
    submitBatch: (list) => submitBatch(list, outbox, bucket, clock),
    waitForReply: (jobId, options = {}) => waitForReply(jobId, options, jobs, clock),
    replies: (jobIds) => replies(jobIds, jobs),
    cancel: (jobId) => cancel(jobId, jobs, clock, ttlDays),
    forget: (jobId) => forget(jobId, jobs, outputs, clock),
  };
}
