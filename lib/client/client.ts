import type { Op } from "../core/config.ts";
import type { Clock, JobTable } from "../ports.ts";
import { cancel } from "./cancel.ts";
import type { Cancelled } from "./cancel.ts";
import { forget } from "./forget.ts";
import type { Forgotten } from "./forget.ts";
import type { Job, JobId, JobOf } from "./job.ts";
import { checked, meant } from "./meant.ts";
import type { Outbox } from "./outbox.ts";
import type { Outputs } from "./outputs.ts";
import { JobRefused, submit, submitBatch } from "./submit.ts";
import type { Submitted } from "./submit.ts";
import { replies, waitForReply } from "./wait.ts";
import type { Conflict, Found, FoundByJob, Waited, WaitOptions } from "./wait.ts";

/** Whatever takes an id throws JobRefused for one that no job can have, before anybody is asked. */
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
   * A table that cannot be reached, or refuses for a moment, is asked again like one that has no reply yet.
   * @throws the signal's reason when it fires; the SDK's error if the table may not be read, or still cannot when the time is up.
   */
  waitForReply<O extends Op = Op>(jobId: JobId<O>, options?: WaitOptions): Promise<Waited<O>>;
  /**
   * The same for the job itself, as it was submitted: where its id was used for other content before, it is never given the
   * other's answer, but told of the conflict.
   * @throws JobRefused for a job with a fault, too, which was never sent.
   */
  waitForReply<O extends Op>(job: JobId<O> | JobOf<O>, options?: WaitOptions): Promise<Waited<O> | Conflict>;
  /** How each job stands now, in the order of the ids. */
  replies<O extends Op = Op>(jobIds: readonly JobId<O>[]): Promise<readonly Found<O>[]>;
  /** The same for jobs themselves, as they were submitted, ids among them or not. */
  replies<O extends Op>(jobs: readonly (JobId<O> | JobOf<O>)[]): Promise<readonly FoundByJob<O>[]>;
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
  function wait<O extends Op>(jobId: JobId<O>, options?: WaitOptions): Promise<Waited<O>>;
  function wait<O extends Op>(job: JobId<O> | JobOf<O>, options?: WaitOptions): Promise<Waited<O> | Conflict>;
  async function wait<O extends Op>(job: JobId<O> | JobOf<O>, options = {}): Promise<Waited<O> | Conflict> {
    const asked = meant(job, bucket);
    if ("fault" in asked) throw new JobRefused(asked.jobId, asked.fault);
    return await waitForReply(asked, options, jobs, clock);
  }

  function find<O extends Op>(jobIds: readonly JobId<O>[]): Promise<readonly Found<O>[]>;
  function find<O extends Op>(list: readonly (JobId<O> | JobOf<O>)[]): Promise<readonly FoundByJob<O>[]>;
  async function find<O extends Op>(list: readonly (JobId<O> | JobOf<O>)[]): Promise<readonly FoundByJob<O>[]> {
    return await replies(
      list.map((job) => meant(job, bucket)),
      jobs,
    );
  }

  return {
    submit: (job) => submit(job, outbox, bucket),
    submitBatch: (list) => submitBatch(list, outbox, bucket, clock),
    waitForReply: wait,
    replies: find,
    cancel: async (jobId) => await cancel(checked(jobId), jobs, clock, ttlDays),
    forget: async (jobId) => await forget(checked(jobId), jobs, outputs, clock),
  };
}
