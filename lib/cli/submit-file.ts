/** Sends the jobs of a file, and hears their replies. */
import type { Client, Job, JobLine } from "../client/index.ts";
import { contentHashOf } from "../client/meant.ts";
import { prepare } from "../client/message.ts";
import type { JobRow } from "../core/claim.ts";
import type { Lane } from "../core/lane.ts";
import { replyIn } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import { sideBySide } from "../operate/side-by-side.ts";
import type { Clock, JobTable } from "../ports.ts";
import { patientRead } from "./patience.ts";
import type { PatientRead } from "./patience.ts";
import type { Sums } from "./sums.ts";

/** Told while it runs. */
export interface Hearing {
  /** A line that is no job, a job that AWS did not take, an id that was used for other content. */
  refused(what: string): void;
  /** `before`: it was there when the job was to be sent. */
  replied(reply: Reply, before: boolean): Promise<void>;
  progress(): void;
  /** Nobody answers for a while, or somebody does again. */
  silence(what: string): void;
}

export interface Sender {
  readonly client: Pick<Client, "submitBatch">;
  readonly jobs: Pick<JobTable, "readMany">;
  readonly clock: Clock;
  /** The client's, for params that are too big for a message. */
  readonly bucket: string | undefined;
  readonly sums: Sums;
  readonly hearing: Hearing;
  readonly signal: AbortSignal;
}

const blockSize = 500;
/** Of lines: a block is in memory as text, as jobs and as messages. */
const blockBytesMax = 8_000_000;
/** A block is read no oftener: what open jobs cost to be watched has a bound, 1,000 rows a second. */
const blockMs = 500;
/** When a whole round of them brought nothing, the next waits longer. */
const quietMsMax = 5_000;

/** One side of two: ended when the other fails, and as patient as it. */
interface Side extends Sender {
  readonly read: PatientRead;
}

interface Sending {
  readonly lines: AsyncIterable<JobLine>;
  /** Of what the lines come from, so far; a reader may be a little ahead of them. */
  readonly bytesRead: () => number;
  /** As it was named, for a person. */
  readonly file: string;
  /** For jobs that name none. */
  readonly lane: Lane | undefined;
  /** Whether replies are heard too. */
  readonly waits: boolean;
  /** Told to let go of what the lines come from, for nobody reads on. */
  readonly stop: () => void;
}

/** When one of the two fails the other ends too: nothing is sent, nor waited for, behind an error that was told. */
export async function sendAndHear(sending: Sending, sender: Sender): Promise<void> {
  const sent = new AbortController();
  const read = patientRead(sender.jobs, sender.clock, (what) => sender.hearing.silence(what));
  await sideBySide(sender.signal, [
    async (signal) => {
      signal.addEventListener("abort", sending.stop, { once: true });
      try {
        await sendLines(sending, { ...sender, read, signal });
      } finally {
        signal.removeEventListener("abort", sending.stop);
        sent.abort();
      }
    },
    async (signal) => {
      if (sending.waits) await hear(sent.signal, { ...sender, read, signal });
    },
  ]);
}

async function sendLines({ lines, bytesRead, file, lane }: Sending, sender: Side): Promise<void> {
  let block: Job[] = [];
  let fromByte = 0;
  for await (const line of untilStopped(lines, sender.signal)) {
    if (line.kind === "fault") {
      sender.sums.linesRefused += 1;
      sender.hearing.refused(`${file}:${line.line}: ${line.fault.message}`);
      continue;
    }
    block.push(lane === undefined || line.job.lane !== undefined ? line.job : { ...line.job, lane });
    if (block.length < blockSize && bytesRead() - fromByte < blockBytesMax) continue;
    await sendBlock(block, sender);
    block = [];
    fromByte = bytesRead();
  }
  if (!sender.signal.aborted) await sendBlock(block, sender);
}

/** A source that is let go of breaks off, which is no fault of its own. */
async function* untilStopped(lines: AsyncIterable<JobLine>, signal: AbortSignal): AsyncGenerator<JobLine, void> {
  try {
    for await (const line of lines) {
      if (signal.aborted) return;
      yield line;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** What the table knows already is not sent again: answered jobs are told, open ones are waited for. */
async function sendBlock(block: readonly Job[], sender: Side): Promise<void> {
  const { client, read, sums, hearing, signal } = sender;
  const fresh = takeFirst(block, sender);
  const found = await read(
    fresh.map(({ jobId }) => jobId),
    signal,
  );
  // Rows that were not read are not rows that are not there.
  if (signal.aborted) return;
  const rows = new Map(found.map((row) => [row.jobId, row]));
  const unknown: Job[] = [];
  for (const job of fresh) {
    const row = rows.get(job.jobId);
    if (row === undefined) unknown.push(job);
    else await hearRow(row, sender, true);
  }
  for (const outcome of await client.submitBatch(unknown)) {
    const { jobId } = outcome;
    if (outcome.kind === "sent") sums.sent(jobId);
    else {
      const why = outcome.kind === "refused" ? outcome.fault.message : outcome.name;
      sums.notSent(jobId, outcome.kind === "refused" ? "invalid_envelope" : "not_sent", why);
      hearing.refused(`${jobId} was not sent: ${why}`);
    }
  }
  hearing.progress();
}

/** Takes of each job its first line in the file, and counts the others; another content under the same id is refused. */
function takeFirst(block: readonly Job[], { bucket, sums, hearing }: Sender): readonly Job[] {
  const first: Job[] = [];
  for (const job of block) {
    const hash = hashOf(job, bucket);
    const known = sums.hashes.get(job.jobId);
    if (known === undefined) {
      sums.hashes.set(job.jobId, hash);
      first.push(job);
    } else if (known === hash) sums.copies += 1;
    else {
      sums.linesRefused += 1;
      hearing.refused(`${job.jobId} is in the file twice, with other content; give it another jobId`);
    }
  }
  return first;
}

/** A job with a fault has none, and is told of when it is sent. */
function hashOf(job: Job, bucket: string | undefined): string {
  const prepared = prepare(job, bucket);
  return prepared.kind === "ready" ? contentHashOf(prepared.message.body) : "";
}

async function hearRow(row: JobRow, { sums, hearing }: Sender, before: boolean): Promise<void> {
  const { jobId, contentHash } = row;
  if (contentHash !== undefined && contentHash !== sums.hashes.get(jobId)) {
    const why = "the id was used for other content; give it another jobId";
    sums.notSent(jobId, "job_id_reused", why);
    hearing.refused(`${jobId}: ${why}`);
    return;
  }
  const reply = replyIn(row);
  if (reply === undefined) return sums.seenOpen(row);
  sums.take(reply, before);
  await hearing.replied(reply, before);
}

/**
 * Until every job that is open has its reply, or the signal fires; `sent` fires when no more will be sent. Jobs are
 * asked for in rounds; in between, every other time, the oldest, which a queue answers first: a round of ten thousand
 * takes ten seconds, and would tell of all that they brought at once.
 */
async function hear(sent: AbortSignal, sender: Side): Promise<void> {
  const { read, clock, sums, hearing, signal } = sender;
  let quietMs = 0;
  let left: string[] = [];
  let oldestNext = false;
  while (!signal.aborted && (!sent.aborted || sums.open > 0)) {
    if (left.length === 0) left = sums.openIds();
    const asked = oldestNext ? sums.oldestIds(blockSize) : left.splice(0, blockSize);
    const before = sums.open;
    const stillOpen = asked.filter((jobId) => sums.isOpen(jobId));
    for (const row of await read(stillOpen, signal)) await hearRow(row, sender, false);
    hearing.progress();
    oldestNext = !oldestNext && left.length > 0;
    if (sums.open < before) quietMs = 0;
    else if (left.length === 0) quietMs = Math.min(quietMsMax, quietMs * 1.5 + 100);
    if (!sent.aborted || sums.open > 0) await clock.sleep(blockMs + (left.length === 0 ? quietMs : 0), signal);
  }
}
