import { cancel } from "../client/cancel.ts";
import type { CallOf, ReplyOf } from "../client/job.ts";
import { JobRefused } from "../client/submit.ts";
import { toJson } from "../client/to-json.ts";
import { storedReply } from "../client/wait.ts";
import type { Config, Op } from "../core/config.ts";
import { encode, faultOf, readEnvelope } from "../core/envelope.ts";
import type { Envelope, Fault } from "../core/envelope.ts";
import type { Lane } from "../core/lane.ts";
import { laneLimits, closingBellMs } from "../core/limits.ts";
import type { Noted } from "../core/noted.ts";
import { plan } from "../core/plan.ts";
import { createMemoryAnnouncer } from "../memory/announcer.ts";
import { invoke } from "../memory/invoke.ts";
import { createMemoryJobTable } from "../memory/job-table.ts";
import { createMemoryObjects } from "../memory/objects.ts";
import { createMemoryOutbox } from "../memory/outbox.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { World } from "../ports.ts";
import { Crowd } from "../worker/crowd.ts";
import type { Invocation, Worker } from "../worker/invocation.ts";
import { HeldObjects } from "../worker/held-objects.ts";
import { KeptReplies } from "../worker/kept-replies.ts";
import { openWorker } from "../worker/open-worker.ts";
import { processRecord } from "../worker/process-record.ts";

export interface CallOptions {
  /** Ends the call: a request that is under way is aborted, and the reply is `cancelled`, with what was perhaps billed. */
  readonly signal?: AbortSignal;
}

export type CallNow = <O extends Op>(job: CallOf<O>, options?: CallOptions) => Promise<ReplyOf<O>>;

/** What a call shares with the workers: the lease table and Bedrock, and with this process its clock and its log. */
export type Shared = Pick<World, "clock" | "leases" | "models" | "telemetry">;

/** What lies below a call failed, so that it has no reply. Calling again is safe. `reason`: the class of the error. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly jobId: string;
  readonly reason: string;

  constructor(jobId: string, reason: string) {
    super(
      `the call of job ${jobId} met ${reason} below it, and has no reply; see that the lease table's name, the region, the credentials and their rights (grantCallNow) are right, then call again`,
    );
    this.jobId = jobId;
    this.reason = reason;
  }
}

/**
 * Calls under the limits, breakers and overrides that the workers share. A call is a job whose queue, row and reply live
 * in this process for as long as it lasts: the very worker runs it, and hands it back to wait as it would to SQS.
 */
export function callNowOn(shared: Shared, config: Config, name: string): CallNow {
  // The reply is handed over as it is: nothing of it has to fit into a row.
  const whole = { ...config, replies: { ...config.replies, inlineBytesMax: Infinity } };
  const identity = { name, version: "", digest: (text: string) => text };
  // Leases, and what is known of limits and budgets, are the process's; all else is the call's own.
  const { board, budgets, desk } = openWorker({ ...shared, ...nowhere(shared, "rt") }, whole, {
    ...identity,
    lane: "rt",
  });

  return async <O extends Op>(job: CallOf<O>, { signal }: CallOptions = {}): Promise<ReplyOf<O>> => {
    const envelope = envelopeOf(job, config);
    const { lane = "rt", jobId } = envelope;
    const trouble = new Trouble();
    const telemetry = {
      note(event: Noted) {
        trouble.see(event);
        shared.telemetry.note(event);
      },
    };
    const world = { ...shared, telemetry, ...nowhere(shared, lane) };
    const worker: Worker = {
      ...identity,
      config: whole,
      world,
      board,
      budgets,
      desk,
      lane,
      kept: new KeptReplies(),
      objects: new HeldObjects(world.objects),
      crowd: new Crowd(world),
    };
    return await callOn(worker, world, encode(envelope), { jobId, trouble, signal });
  };
}

/** The parts of the World that a call has to itself. */
function nowhere({ clock }: Pick<Shared, "clock">, lane: Lane) {
  return {
    jobs: createMemoryJobTable(),
    objects: createMemoryObjects(),
    outbox: createMemoryOutbox(clock),
    announcer: createMemoryAnnouncer(),
    queue: createMemoryQueue(clock, { visibilityS: laneLimits[lane].functionTimeoutMs / 1_000 }),
  };
}

interface Call {
  readonly jobId: string;
  readonly trouble: Trouble;
  readonly signal: AbortSignal | undefined;
}

/** From delivery to delivery until there is a reply: one that is handed back is slept for here, with no lease in hand. */
async function callOn<O extends Op>(
  worker: Worker,
  { clock, jobs, queue }: World & ReturnType<typeof nowhere>,
  body: string,
  { jobId, trouble, signal }: Call,
): Promise<ReplyOf<O>> {
  let running: Invocation["running"] = new Set();
  const stop = async () => {
    await cancel(jobId, jobs, clock, 1);
    for (const run of running) run.cut("cancelled");
  };
  let stopping: Promise<void> | undefined;
  const onAbort = () => {
    stopping ??= stop();
  };
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  try {
    queue.send(body);
    for (;;) {
      await stopping;
      const reply = storedReply<O>(await jobs.read(jobId));
      if (reply !== undefined) return reply;
      if (trouble.error !== undefined) throw new CallFailed(jobId, trouble.error);

      const leftMs = (queue.nextVisibleAtMs() ?? 0) - clock.nowMs();
      // Once it has stopped what still sleeps is no request: it wakes when its message comes.
      if (leftMs > 0) await clock.sleep(leftMs, signal?.aborted === true ? undefined : signal);
      const received = queue.receive();
      if (received.length > 0)
        await invoke(worker, queue, received, {
          endsAtMs: lastsUntilMs(worker, clock.nowMs()),
          process: (invocation, delivery) => {
            running = invocation.running;
            return processRecord(invocation, delivery);
          },
        });
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

/** No bell rings in a process that has no end: the deadline comes first. */
function lastsUntilMs({ lane }: Worker, nowMs: number): number {
  const { attemptMsMax, deadlineMsMax } = laneLimits[lane];
  return nowMs + deadlineMsMax + attemptMsMax + closingBellMs;
}

/** What a worker would let SQS try again. */
class Trouble {
  error: string | undefined;
  #last = "Error";

  see(event: Noted): void {
    if (event.kind === "trouble") this.#last = event.error;
    const isHandedBack = event.kind === "requeued" && event.cause === "trouble";
    if (isHandedBack || (event.kind === "hidden" && event.why === "trouble")) this.error = this.#last;
  }
}

/** Checked as a job that is submitted, and against the config: whatever is wrong is told before anything is sent. */
function envelopeOf(job: { readonly jobId: string }, config: Config): Envelope {
  const faults: Fault[] = [];
  const read = readEnvelope(toJson(job, faults));
  const refuse = (fault: Fault) => new JobRefused(job.jobId, fault);
  const [fault] = faults;
  if (fault !== undefined) throw refuse(fault);
  if (read.kind === "invalid" || read.kind === "refused") throw refuse(read.fault);
  if (read.kind !== "envelope") throw refuse(faultOf("body", "is an event about a job; give the job itself"));

  const { envelope } = read;
  if (envelope.params.kind === "ref") throw refuse(faultOf("paramsRef", "is for messages; give the params themselves"));
  if (envelope.replyTo !== undefined)
    throw refuse(faultOf("replyTo", "is for messages; whoever calls has the reply in hand"));
  const { lane = "rt" } = envelope;
  const planned = plan({ ...envelope, lane }, config);
  const known = Object.keys(config.models).join(", ");
  if (planned.kind === "unknown-model")
    throw refuse(
      faultOf("model", `or fallback names ${planned.name}, which the config does not have; known: ${known}`),
    );
  return { ...envelope, lane };
}
