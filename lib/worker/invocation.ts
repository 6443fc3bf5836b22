import type { Config } from "../core/config.ts";
import type { Delivery, Job } from "../core/job.ts";
import type { Lane } from "../core/lane.ts";
import { closingBellMs, lastCallMs } from "../core/limits.ts";
import type { World } from "../ports.ts";
import type { Board } from "./board.ts";
import type { Budgets } from "./budgets.ts";
import type { Crowd } from "./crowd.ts";
import type { HeldObjects } from "./held-objects.ts";
import type { KeptReplies } from "./kept-replies.ts";
import type { LeaseDesk } from "./lease-desk.ts";
import { Meter } from "./meter.ts";
import { Turns } from "./turns.ts";
import type { Run } from "./run.ts";
import { TaskHeartbeats } from "./task-heartbeats.ts";
import { Visibility } from "./visibility.ts";

/** What a container keeps between invocations. It knows no job but those whose replies it keeps. */
export interface Worker {
  readonly config: Config;
  readonly world: World;
  readonly board: Board;
  readonly budgets: Budgets;
  readonly desk: LeaseDesk;
  readonly kept: KeptReplies;
  readonly objects: HeldObjects;
  readonly crowd: Crowd;
  /** The lane of the queue that feeds this worker. */
  readonly lane: Lane;
  readonly name: string;
  readonly version: string;
  /** A digest of a job's content, the same in every process: hex SHA-256. */
  readonly digest: (text: string) => string;
}

/** What one invocation knows; it ends with it. Many may live in one container at the same time. */
export interface Invocation {
  readonly worker: Worker;
  readonly bellAtMs: number;
  readonly lastCallAtMs: number;
  readonly visibility: Visibility;
  readonly turns: Turns;
  readonly meter: Meter;
  readonly tasks: TaskHeartbeats;
  /** The claimed jobs that are still running: what the heartbeat beats for and the bell rings at. */
  readonly running: Set<Run>;
  /** All records: the messages of those that have not settled, begun or not, stay hidden. */
  readonly deliveries: readonly Delivery[];
  /** What is known of the messages' jobs, by messageId. */
  readonly jobs: Map<string, Job>;
  /** Requests that nobody waits for any more, but the handler. */
  readonly stragglers: Promise<unknown>[];
  bellHasRung: boolean;
}

export function openInvocation(worker: Worker, deliveries: readonly Delivery[], endsAtMs: number): Invocation {
  const { clock } = worker.world;
  const stragglers: Promise<unknown>[] = [];
  return {
    worker,
    bellAtMs: endsAtMs - closingBellMs,
    lastCallAtMs: endsAtMs - lastCallMs,
    visibility: new Visibility(worker.world, worker.crowd),
    turns: new Turns(),
    meter: new Meter(() => clock.nowMs()),
    tasks: new TaskHeartbeats(worker.world, stragglers),
    running: new Set(),
    deliveries,
    jobs: new Map(),
    stragglers,
    bellHasRung: false,
  };
}
