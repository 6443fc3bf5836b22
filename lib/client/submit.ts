import { errorName } from "../core/error-name.ts";
import type { Op } from "../core/config.ts";
import type { Fault } from "../core/envelope.ts";
import { lanes } from "../core/lane.ts";
import type { Clock } from "../ports.ts";
import type { Job, JobId, JobOf } from "./job.ts";
import { idIn, prepare } from "./message.ts";
import type { Message } from "./message.ts";
import type { Outbox } from "./outbox.ts";
import { split } from "./split.ts";

/** Requests of one `submitBatch` that are under way at a time. */
const requestsMax = 8;
const roundsMax = 3;
const roundMsBase = 200;

/** A job with a fault, told before anything was sent. `message` names the field and says what to do. */
export class JobRefused extends Error {
  override readonly name = "JobRefused";
  readonly jobId: string;
  readonly field: string;

  constructor(jobId: string, { field, message }: Fault) {
    super(message);
    this.jobId = jobId;
    this.field = field;
  }
}

/** What became of one job of a batch; `index` is its place in the list that was given, `jobId` empty where it has none. */
export type Submitted = { readonly index: number; readonly jobId: string } & (
  | { readonly kind: "sent" }
  /** Never sent: it has a fault. */
  | { readonly kind: "refused"; readonly fault: Fault }
  /**
   * AWS did not take it, or did not say so; sending it again is safe, the jobId sees to that. `name` is AWS's, or that of
   * the error that was thrown when the job was read.
   */
  | { readonly kind: "failed"; readonly name: string }
);

export async function submit<O extends Op>(
  job: JobOf<O>,
  outbox: Outbox,
  bucket: string | undefined,
): Promise<JobId<O>> {
  const prepared = prepare(job, bucket);
  if (prepared.kind === "refused") throw new JobRefused(idIn(job), prepared.fault);
  if (prepared.upload !== undefined) await outbox.upload(prepared.upload);
  await outbox.send(prepared.message);
  return job.jobId;
}

export async function submitBatch(
  jobs: readonly Job[],
  outbox: Outbox,
  bucket: string | undefined,
  clock: Clock,
): Promise<readonly Submitted[]> {
  const outcomes = Array.from(jobs, (_job, index): Submitted => ({
    index,
    jobId: "",
    kind: "failed",
    name: "NotSent",
  }));
  const tell = (index: number, jobId: string, outcome: Outcome) => {
    outcomes[index] = { index, jobId, ...outcome };
  };

  const entries: Entry[] = [];
  await inParallel(jobs.entries(), async ([index, job]) => {
    let jobId = "";
    try {
      jobId = idIn(job);
      const prepared = prepare(job, bucket);
      if (prepared.kind === "refused") return tell(index, jobId, prepared);
      if (prepared.upload !== undefined) await outbox.upload(prepared.upload);
      entries.push({ ...prepared.message, index });
    } catch (error) {
      tell(index, jobId, { kind: "failed", name: errorName(error) });
    }
  });
  entries.sort((a, b) => a.index - b.index);

  const chunks = lanes.flatMap((lane) => split(entries.filter((entry) => entry.lane === lane)));
  await inParallel(chunks.values(), (chunk) =>
    sendChunk(chunk, outbox, clock, ({ index, jobId }, outcome) => tell(index, jobId, outcome)),
  );
  return outcomes;
}

type Entry = Message & { readonly index: number };
type Outcome =
  | { readonly kind: "sent" }
  | { readonly kind: "refused"; readonly fault: Fault }
  | { readonly kind: "failed"; readonly name: string };

/** Sends a chunk of one lane; entries that failed by SQS's own fault go again, alone, after a pause. */
async function sendChunk(
  chunk: readonly Entry[],
  outbox: Outbox,
  clock: Clock,
  tell: (entry: Entry, outcome: Outcome) => void,
): Promise<void> {
  let waiting = chunk;
  for (let round = 1; ; round += 1) {
    const sent = await outbox.sendMany(waiting).catch(
      // The SDK has tried three times already: the whole request failed, and so did each of its entries.
      (error: unknown) => waiting.map(() => ({ kind: "failed", name: errorName(error), again: false }) as const),
    );
    const again: Entry[] = [];
    for (const [place, entry] of waiting.entries()) {
      const answer = sent[place] ?? { kind: "failed", name: "NoAnswer", again: true };
      if (answer.kind === "failed" && answer.again && round < roundsMax) again.push(entry);
      else tell(entry, answer.kind === "sent" ? answer : { kind: "failed", name: answer.name });
    }
    if (again.length === 0) return;
    waiting = again;
    await clock.sleep(roundMsBase * 2 ** (round - 1) * (0.5 + clock.jitter()));
  }
}

/** One iterator, several hands: each takes the next item when it is done with its last. */
async function inParallel<T>(items: IterableIterator<T>, act: (item: T) => Promise<void>): Promise<void> {
  const hand = async () => {
    for (const item of items) await act(item);
  };
  await Promise.all(Array.from({ length: requestsMax }, hand));
}
