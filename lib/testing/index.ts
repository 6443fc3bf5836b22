import { clientOn } from "../client/client.ts";
import type { Client } from "../client/client.ts";
import type { Job, JobId, JobOf } from "../client/job.ts";
import type { Message, Upload } from "../client/message.ts";
import type { Conflict, Waited, WaitOptions } from "../client/wait.ts";
import { checkConfig } from "../config.ts";
import type { ConfigInput } from "../config.ts";
import type { Config, Op } from "../core/config.ts";
import { readBody } from "../core/feeds.ts";
import { lanes } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { paramsPrefix, replyTtlDaysDefault } from "../core/limits.ts";
import { createMemoryAnnouncer } from "../memory/announcer.ts";
import type { Announcement } from "../memory/announcer.ts";
import { createVirtualClock } from "../memory/clock.ts";
import { createMemoryJobTable } from "../memory/job-table.ts";
import { createMemoryLeaseTable } from "../memory/lease-table.ts";
import { createMemoryObjects } from "../memory/objects.ts";
import { createMemoryOutbox } from "../memory/outbox.ts";
import type { ParkedMessage } from "../memory/queue.ts";
import { AnyConfig } from "./any-config.ts";
import { Lanes } from "./lanes.ts";
import { testModels } from "./models.ts";
import type { Asked, TestAnswer } from "./models.ts";

export { ModelError } from "./models.ts";
export type { Asked, TestAnswer } from "./models.ts";

export interface TestClientOptions {
  /** What the model answers; a promise is waited for, and no time passes meanwhile. */
  readonly answer: (asked: Asked) => TestAnswer | Promise<TestAnswer>;
  /** The deployment's, with its limits and fallbacks. Without it a job may name any model: it has one target, and no fallback. */
  readonly config?: ConfigInput;
  /** How long each answer takes. Default 0. */
  readonly latencyMs?: number;
  /** When the client's time begins, epoch ms. Default now. */
  readonly startMs?: number;
  /** Of jitter and ids: the same seed, the same run. Default 1. */
  readonly seed?: number;
}

/** A job as it went into a lane's queue. */
export interface SubmittedJob {
  readonly lane: Lane;
  readonly job: Job;
}

/**
 * The client, with a service behind it in memory: the same checks, the workers' own code. Its time stands still until
 * somebody waits (`waitForReply`, `run`, `pass`), and then costs none: an hour's backoff is over at once.
 */
export interface TestClient extends Client {
  /** All that was sent, in order. */
  readonly submitted: readonly SubmittedJob[];
  /** All that models were asked, in order: attempts that failed, too. */
  readonly asked: readonly Asked[];
  /** Whom a reply was announced to, by `replyTo`; `reply` is its JSON text. */
  readonly announced: readonly Announcement[];
  readonly parked: readonly ParkedMessage[];
  /** Epoch ms. */
  nowMs(): number;
  /** Until every job that was sent has ended, however long that takes. */
  run(): Promise<void>;
  /** So much time, with all that happens meanwhile. */
  pass(ms: number): Promise<void>;
}

const bucket = "sluice-test";

/** Who waits longer than SQS keeps a message waits without end. */
const endlessMs = 14 * 86_400_000;
/** Then an hour in which no job was under way is enough: none comes by itself. */
const quietMs = 3_600_000;

/** @throws ConfigError for a config with a fault. Its promises reject with what `answer` threw that was no ModelError. */
export function createTestClient(options: TestClientOptions): TestClient {
  const { answer, latencyMs = 0, startMs = Date.now(), seed = 1 } = options;
  const clock = createVirtualClock(startMs, seed);
  const any = new AnyConfig();
  const given = options.config === undefined ? undefined : checkConfig(options.config);
  const models = testModels(clock, answer, latencyMs);
  const objects = createMemoryObjects(bucket);
  const announcer = createMemoryAnnouncer();
  const jobs = createMemoryJobTable();
  const world = {
    clock,
    jobs,
    leases: createMemoryLeaseTable(),
    models,
    objects,
    outbox: createMemoryOutbox(clock),
    announcer,
    telemetry: { note: () => undefined },
  };
  const lanesOf = new Lanes(
    world,
    remembering(() => given ?? any.config),
  );
  const submitted: SubmittedJob[] = [];

  const outbox = {
    async send({ body, lane, groupId }: Message) {
      const read = readBody(body);
      if (read.kind === "envelope") any.learn(read.envelope);
      const job: Job = JSON.parse(body);
      submitted.push({ lane, job });
      lanesOf.queues[lane].send(body, groupId === undefined ? {} : { tenant: groupId });
    },
    async sendMany(messages: readonly Message[]) {
      for (const message of messages) await outbox.send(message);
      return messages.map(() => ({ kind: "sent" }) as const);
    },
    async upload({ bucket: where, key, text }: Upload) {
      objects.put(where, key, text);
    },
  };
  const ttlDays = given?.replies.ttlDays ?? replyTtlDaysDefault;
  const client = clientOn({ outbox, jobs, outputs: objects, clock, bucket, ttlDays });

  /**
   * Lets time go on, from timer to timer, until it holds; never while an answer is being made. `quietMsMax`: who polls has
   * always a next timer, so with all jobs ended for so long nothing is left to happen.
   */
  async function until(holds: () => boolean, untilMs = Infinity, quietMsMax = Infinity): Promise<void> {
    let busyAtMs = clock.nowMs();
    for (;;) {
      lanesOf.begin();
      await clock.advance(0);
      await models.quiet();
      await clock.advance(0);
      if (holds()) return;
      if (!lanesOf.isDone) busyAtMs = clock.nowMs();
      const nextMs = Math.min(clock.nextAtMs() ?? Infinity, untilMs);
      if (nextMs === Infinity || nextMs - busyAtMs > quietMsMax)
        throw new Error("nothing is left to happen, and what was waited for has not come");
      await clock.advance(Math.max(0, nextMs - clock.nowMs()));
    }
  }

  /** Whoever waits lets time go on; of several, each does, and each is served. */
  async function waiting<T>(waited: Promise<T>, timeoutMs = 0): Promise<T> {
    let isOver = false;
    const over = waited.then(
      (value) => {
        isOver = true;
        return { value };
      },
      (error: unknown) => {
        isOver = true;
        return { error };
      },
    );
    await until(() => isOver, Infinity, timeoutMs > endlessMs ? quietMs : Infinity);
    const end = await over;
    if ("error" in end) throw end.error;
    return end.value;
  }

  function waitForReply<O extends Op>(jobId: JobId<O>, wait?: WaitOptions): Promise<Waited<O>>;
  function waitForReply<O extends Op>(job: JobId<O> | JobOf<O>, wait?: WaitOptions): Promise<Waited<O> | Conflict>;
  function waitForReply<O extends Op>(job: JobId<O> | JobOf<O>, wait?: WaitOptions): Promise<Waited<O> | Conflict> {
    return waiting(client.waitForReply(job, wait), wait?.timeoutMs);
  }

  return {
    ...client,
    submitted,
    get asked() {
      return models.asked;
    },
    get announced() {
      return announcer.sent;
    },
    get parked() {
      return lanes.flatMap((lane) => lanesOf.queues[lane].parked);
    },
    nowMs: () => clock.nowMs(),
    waitForReply,
    run: () => until(() => lanesOf.isDone),
    pass(ms) {
      const untilMs = clock.nowMs() + ms;
      return until(() => clock.nowMs() >= untilMs, untilMs);
    },
  };
}

/** The config of a worker, with the client's own bucket: the same as long as the config is. */
function remembering(configOf: () => Config): () => Config {
  let last: { readonly from: Config; readonly to: Config } | undefined;
  return () => {
    const from = configOf();
    if (last?.from !== from) {
      const buckets = [...from.paramsRef.buckets, `${bucket}/${paramsPrefix}`];
      last = { from, to: { ...from, paramsRef: { buckets } } };
    }
    return last.to;
  };
}
