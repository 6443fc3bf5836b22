import { dynamoClient, s3Client, sqsClient } from "../aws/clients.ts";
import { systemClock } from "../aws/clock.ts";
import { createJobTable } from "../aws/job-table.ts";
import { lanes } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { replyTtlDaysDefault } from "../core/limits.ts";
import { clientOn } from "./client.ts";
import type { Client } from "./client.ts";
import { needNames } from "./need.ts";
import { createOutbox } from "./outbox.ts";
import { createOutputs } from "./outputs.ts";

export type { Cancelled } from "./cancel.ts";
export type { Client } from "./client.ts";
export type { Job, JobId, JobOf, OutputOf, ParamsOf, ReplyOf, ReplyTo } from "./job.ts";
export type { Forgotten } from "./forget.ts";
export { readJobs } from "./read-jobs.ts";
export type { JobLine } from "./read-jobs.ts";
export { JobRefused } from "./submit.ts";
export type { Submitted } from "./submit.ts";
export type { Conflict, Found, FoundByJob, WaitOptions, Waited } from "./wait.ts";

/** Names are the stack's outputs. Endpoints and credentials are the SDK's own: `AWS_ENDPOINT_URL_SQS` and the like. */
export interface ClientOptions {
  readonly queueUrls: Readonly<Record<Lane, string>>;
  readonly jobTable: string;
  /** Takes params over 900 KB: the stack's own, or one of the config's `paramsRef.buckets`. Without it they are refused. */
  readonly bucket?: string;
  readonly region?: string;
  /** How long the reply of a cancelled job is kept: the config's `replies.ttlDays`, 7 without it. */
  readonly ttlDays?: number;
}

/**
 * For any process with rights on the queues and the table: a Lambda, a server, a laptop. Nothing runs until it is used.
 * @throws TypeError for a name that is missing.
 */
export function createClient({
  queueUrls,
  jobTable,
  bucket,
  region,
  ttlDays = replyTtlDaysDefault,
}: ClientOptions): Client {
  const queues = lanes.map((lane) => [`queueUrls.${lane}`, queueUrls[lane], `${lane}QueueUrl`] as const);
  needNames(["jobTable", jobTable, "jobTableName"], ...queues);
  const where = region === undefined ? {} : { region };
  const s3 = s3Client(where);
  return clientOn({
    outbox: createOutbox(sqsClient(where), s3, queueUrls),
    outputs: createOutputs(s3),
    jobs: createJobTable(dynamoClient(where), jobTable, systemClock),
    clock: systemClock,
    ttlDays,
    ...(bucket === undefined ? {} : { bucket }),
  });
}
