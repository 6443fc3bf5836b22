/** Sends jobs to a running service, hears their replies, and sees what is left when all are answered. */
import { SendMessageCommand } from "@aws-sdk/client-sqs";

import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { clientOn } from "../../lib/client/client.ts";
import type { Client, Job } from "../../lib/client/index.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { createOutputs } from "../../lib/client/outputs.ts";
import type { JobRow } from "../../lib/core/claim.ts";
import { errorName } from "../../lib/core/error-name.ts";
import { byLane } from "../../lib/core/lane.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { leaseGraceMs, leaseMs } from "../../lib/core/limits.ts";
import type { JobTable } from "../../lib/ports.ts";
import { replyIn } from "../../lib/core/reply.ts";
import type { Reply } from "../../lib/core/reply.ts";
import { leasesOut, messagesInLanes, messagesParked, reasonsParked } from "./leftovers.ts";
import { outputOf, queueUrl } from "./service.ts";
import type { Service } from "./service.ts";
import { sideBySide } from "../../lib/operate/side-by-side.ts";
import { Tally } from "../../lib/operate/tally.ts";
import type { Counts, Unsuccessful } from "../../lib/operate/tally.ts";

/** What is sent, and when. */
export interface Work {
  /** Cancelled before they are sent. */
  readonly cancelled?: readonly Job[];
  /** Bodies as other senders write them; `jobId` where a reply will come for it. */
  readonly bodies?: readonly { readonly lane: Lane; readonly body: string; readonly jobId?: string }[];
  readonly jobs: AsyncIterable<Job> | Iterable<Job>;
  /** Sent once more when all jobs are answered. */
  readonly again?: readonly Job[];
}

export interface Outcome extends Counts {
  /** Error codes of what did not succeed. */
  readonly codes: Readonly<Record<string, number>>;
  /** The first that did not succeed. */
  readonly unsuccessful: readonly Unsuccessful[];
  /** What ended the run before its time: much is open then that would have been closed. */
  readonly cutShort?: "interrupted" | "time is up";
  readonly messages: number;
  readonly parked: number;
  /** Why, of the first ten. */
  readonly parkReasons: readonly string[];
  /** Copies of answered jobs that are still hidden; each will be acknowledged when it comes again. */
  readonly messagesHidden: number;
  readonly leasesLeft: number;
  readonly totalMsP50: number | undefined;
  readonly totalMsP99: number | undefined;
  readonly wallMs: number;
}

/** Told while it runs. */
export interface Watch {
  /** Is waited for; what it throws ends the run. */
  replied(reply: Reply, afterMs: number): void | Promise<void>;
  /** `open`: jobs without a reply that a worker has seen. */
  progress(counts: Counts, open: readonly Pick<JobRow, "jobId" | "stage">[], afterMs: number): void;
  /** The same trouble is told a few times, and of one kind, where it has one, the first alone. */
  trouble(what: string, kind?: string): void;
}

const blockSize = 500;
const pollMsMin = 150;
const pollMsMax = 2_000;
/** A read of many rows is followed by a pause of so many times its own length. */
const politeness = 4;
const quietMsMax = 10_000;
const quietLooks = 2;
const lapsePollMs = 2_000;

/** Ends when every job is answered and every message that can be is dealt with, or when the signal fires. */
export async function runWork(work: Work, service: Service, watch: Watch, signal: AbortSignal): Promise<Outcome> {
  const startedAtMs = Date.now();
  const parkedBefore = await messagesParked(service);
  const jobTable = createJobTable(service.clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const client = clientOf(service, jobTable);
  const tally = new Tally();
  const sent = new AbortController();

  await sideBySide(signal, [
    (either) => send(work, service, client, tally, watch, either).finally(() => sent.abort()),
    (either) => hear(jobTable, tally, startedAtMs, watch, sent.signal, either),
  ]);
  if (!signal.aborted) await submit(work.again ?? [], client, tally, watch);
  await quiet(service, signal);

  // Somebody at the page may have run again what was parked before.
  const parked = Math.max(0, (await messagesParked(service)) - parkedBefore);
  return {
    ...tally.counts,
    codes: tally.codes,
    unsuccessful: tally.unsuccessful,
    messages: tally.messages,
    parked,
    parkReasons: parked > 0 ? await reasonsParked(service) : [],
    messagesHidden: await messagesInLanes(service, "ApproximateNumberOfMessagesNotVisible"),
    leasesLeft: await leasesLeft(service, watch, signal),
    totalMsP50: tally.totalMsAt(50),
    totalMsP99: tally.totalMsAt(99),
    wallMs: Date.now() - startedAtMs,
    ...(signal.aborted ? { cutShort: isTimeout(signal.reason) ? "time is up" : "interrupted" } : {}),
  };
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

function clientOf(service: Service, jobs: JobTable): Client {
  const { clients, config } = service;
  const queueUrls = byLane((lane) => queueUrl(service, lane));
  return clientOn({
    outbox: createOutbox(clients.sqs, clients.s3, queueUrls),
    outputs: createOutputs(clients.s3),
    jobs,
    clock: systemClock,
    ttlDays: config.replies.ttlDays,
    bucket: outputOf(service, "repliesBucketName"),
  });
}

async function send(
  work: Work,
  service: Service,
  client: Client,
  tally: Tally,
  watch: Watch,
  signal: AbortSignal,
): Promise<void> {
  const { cancelled = [], bodies = [], jobs } = work;
  if (signal.aborted) return;
  for (const { jobId } of cancelled) await client.cancel(jobId);
  await submit(cancelled, client, tally, watch);
  for (const { lane, body, jobId } of bodies) {
    await service.clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(service, lane), MessageBody: body }));
    if (jobId === undefined) tally.messages++;
    else tally.sent(jobId);
  }
  for await (const block of blocks(jobs)) {
    if (signal.aborted) return;
    await submit(block, client, tally, watch);
  }
}

async function submit(jobs: readonly Job[], client: Client, tally: Tally, watch: Watch): Promise<void> {
  for (const outcome of await client.submitBatch(jobs)) {
    const { jobId } = outcome;
    if (outcome.kind === "sent") {
      tally.sent(jobId);
      continue;
    }
    const why = outcome.kind === "refused" ? outcome.fault.message : outcome.name;
    tally.notSent(jobId, why);
    watch.trouble(`${jobId} was not sent: ${why}`, `not sent: ${why.replaceAll(/\d+/g, "N")}`);
  }
}

/** Reads the rows of open jobs, the less often the longer a read takes. */
async function hear(
  jobs: JobTable,
  tally: Tally,
  startedAtMs: number,
  watch: Watch,
  sent: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (!sent.aborted || tally.openCount > 0)) {
    const askedAtMs = Date.now();
    const open: JobRow[] = [];
    for (const row of await readRows(jobs, tally.open, watch)) {
      const reply = replyIn(row);
      if (reply === undefined) {
        open.push(row);
        continue;
      }
      tally.take(reply);
      await watch.replied(reply, Date.now() - startedAtMs);
    }
    watch.progress(tally.counts, open, Date.now() - startedAtMs);
    const pauseMs = Math.min(pollMsMax, Math.max(pollMsMin, politeness * (Date.now() - askedAtMs)));
    if (!sent.aborted || tally.openCount > 0) await systemClock.sleep(pauseMs, signal);
  }
}

/** A table that cannot be read just now is told of, and read again. */
async function readRows(jobs: JobTable, jobIds: readonly string[], watch: Watch): Promise<readonly JobRow[]> {
  try {
    return await jobs.readMany(jobIds);
  } catch (error) {
    watch.trouble(`the job table could not be read: ${errorName(error)}`);
    return [];
  }
}

/** Copies of answered jobs are still to be acknowledged; a copy that met its job running is hidden, and not waited for. */
async function quiet(service: Service, signal: AbortSignal): Promise<void> {
  const untilMs = Date.now() + quietMsMax;
  // On its way from SQS to us a message is seen nowhere: one quiet look proves nothing.
  for (let looks = 0; looks < quietLooks && !signal.aborted && Date.now() < untilMs;) {
    const waiting = await messagesInLanes(service, "ApproximateNumberOfMessages");
    looks = waiting === 0 && service.messagesHeld() === 0 ? looks + 1 : 0;
    await systemClock.sleep(pollMsMin, signal);
  }
}

/** Leases of a killed worker lapse by themselves and are waited for; any other that is left is a fault. */
async function leasesLeft(service: Service, watch: Watch, signal: AbortSignal): Promise<number> {
  const untilMs = Date.now() + leaseMs + leaseGraceMs;
  for (let told = false; ; told = true) {
    const left = await leasesOut(service);
    if (left === 0 || service.stats().died === 0 || signal.aborted || Date.now() > untilMs) return left;
    if (!told) watch.trouble(`${left} leases of a killed worker are left to lapse: at most ${leaseMs / 1_000} s`);
    await systemClock.sleep(lapsePollMs, signal);
  }
}

async function* blocks(jobs: AsyncIterable<Job> | Iterable<Job>): AsyncGenerator<readonly Job[]> {
  let block: Job[] = [];
  for await (const job of jobs) {
    block.push(job);
    if (block.length < blockSize) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}
