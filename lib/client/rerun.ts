import type { JobRow } from "../core/claim.ts";
import type { Envelope, Fault, Read } from "../core/envelope.ts";
import { faultOf } from "../core/envelope.ts";
import { readBody, readObject } from "../core/feeds.ts";
import type { Lane } from "../core/lane.ts";
import { nextJobId, rerunOf } from "../core/rerun.ts";
import type { Clock, JobTable, Objects } from "../ports.ts";
import { fit } from "./message.ts";
import type { Outbox } from "./outbox.ts";
import type { ParkedMessage } from "./parked-queue.ts";

const roundsMax = 5;

/** A message of the parked queue, as far as running it again needs it. */
export type Parked = Pick<ParkedMessage, "receiptHandle" | "messageId" | "body" | "lane">;

/** What running a parked message again needs of the world. */
export interface RerunOutside {
  readonly jobs: Pick<JobTable, "noteRerun" | "read">;
  readonly objects: Pick<Objects, "get">;
  readonly outbox: Outbox;
  readonly clock: Pick<Clock, "nowMs">;
  /** Takes a message out of the parked queue. */
  readonly remove: (receiptHandle: string) => Promise<void>;
  /** Where params go that are too big for a message. */
  readonly bucket?: string;
}

/** Which job was sent instead of which. */
export interface Rerun {
  readonly jobId: string;
  readonly was: string;
  readonly lane: Lane;
}

/** A parked message that cannot be run again. Nothing was sent, and it stays parked; `message` says what to do instead. */
export class RerunRefused extends Error {
  override readonly name = "RerunRefused";
  readonly field: string;

  constructor({ field, message }: Fault) {
    super(message);
    this.field = field;
  }
}

/**
 * Runs a parked message's job again, as a new job that the old one's row names: its reply is final. Whatever dies in
 * between, and whoever else does the same, the message is sent under the same new jobId, so that it runs once.
 * @throws RerunRefused for a message without a job that could be run.
 */
export async function rerun(parked: Parked, outside: RerunOutside): Promise<Rerun> {
  const { clock, outbox, remove, bucket } = outside;
  const envelope = await envelopeOf(parked, outside);
  const jobId = await newJobId(envelope.jobId, parked.messageId, outside);
  const prepared = fit(rerunOf(envelope, jobId, clock.nowMs()), bucket);
  if (prepared.kind === "refused") throw new RerunRefused(prepared.fault);

  const lane = parked.lane ?? prepared.message.lane;
  if (prepared.upload !== undefined) await outbox.upload(prepared.upload);
  await outbox.send({ ...prepared.message, lane });
  await remove(parked.receiptHandle);
  return { jobId, was: envelope.jobId, lane };
}

async function envelopeOf({ body }: Parked, { objects }: RerunOutside): Promise<Envelope> {
  const read = await readThrough(readBody(body), objects);
  switch (read.kind) {
    case "envelope":
      return read.envelope;
    case "ignore":
      throw new RerunRefused(faultOf("body", "asks for no job; delete the message"));
    case "invalid":
    case "refused":
      throw new RerunRefused(read.fault);
  }
}

async function readThrough(read: Read, objects: RerunOutside["objects"]): Promise<Exclude<Read, { kind: "pointer" }>> {
  if (read.kind !== "pointer") return read;
  const object = await objects.get(read.bucket, read.key);
  if (object.kind === "found") return readObject(object.text);
  return { kind: "refused", fault: faultOf("body", "points to an object that is gone; send the job itself") };
}

/** Written before anything is sent. A row that has gone names nothing: then the first new id is the one. */
async function newJobId(jobId: string, messageId: string, { jobs }: RerunOutside): Promise<string> {
  for (let round = 1; round <= roundsMax; round += 1) {
    const row = await jobs.read(jobId);
    const named = row?.reruns?.[messageId];
    if (named !== undefined) return named;
    const next = await freeJobId(jobId, row, jobs);
    if (row === undefined || (await jobs.noteRerun(jobId, row.reruns, { ...row.reruns, [messageId]: next })))
      return next;
  }
  throw new Error(`job ${jobId} could not be run again: its row changed under ${roundsMax} tries; try once more`);
}

/** Neither another message's nor a job's of its own. */
async function freeJobId(jobId: string, row: JobRow | undefined, jobs: RerunOutside["jobs"]): Promise<string> {
  const taken = new Set(Object.values(row?.reruns ?? {}));
  for (;;) {
    const next = nextJobId(jobId, (id) => taken.has(id));
    if (next === undefined) {
      const what = "leaves no room for the ~2 of a new one; send the job yourself, under a shorter id";
      throw new RerunRefused(faultOf("jobId", what));
    }
    if (row === undefined || (await jobs.read(next)) === undefined) return next;
    taken.add(next);
  }
}
