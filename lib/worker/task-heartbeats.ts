import { errorName } from "../core/error-name.ts";
import type { Delivery, Job } from "../core/job.ts";
import { taskBeatMsMax } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import type { World } from "../ports.ts";

type Seen = Pick<World, "announcer" | "clock" | "telemetry">;

/** A failed heartbeat is tried again sooner, after this part of the usual time. */
const againAfter = 1 / 4;
/** A heartbeat that is no older than this need not be repeated when the message goes back. */
const freshMs = 1_000;

/**
 * The heartbeats of tasks in Step Functions whose jobs an invocation has in hand. Each hears at once, for its message may
 * have lain in the queue for long; then twice in the time that its state machine allows between two; and once more when
 * its message goes back, to be hidden for less than that. They decide nothing: a job whose task has timed out runs on,
 * for a retry of that task gets the stored reply.
 */
export class TaskHeartbeats {
  readonly #world: Seen;
  /** What is under way, and must not outlive the invocation. */
  readonly #stragglers: Promise<unknown>[];
  readonly #beating = new Set<AbortController>();

  constructor(world: Seen, stragglers: Promise<unknown>[]) {
    this.#world = world;
    this.#stragglers = stragglers;
  }

  /** Beats while `act` has the job in hand, if a task waits for it that wants to hear of it. */
  async during<Settled>(
    job: Job,
    delivery: Delivery,
    act: () => Promise<Settled | "again">,
  ): Promise<Settled | "again"> {
    const { jobId, lane, replyTo } = job;
    if (replyTo?.kind !== "taskToken" || replyTo.heartbeatSeconds === undefined) return act();
    const task = new Task(this.#world, replyTo.token, { jobId, lane, messageId: delivery.messageId });
    const everyMs = Math.min((replyTo.heartbeatSeconds * 1_000) / 2, taskBeatMsMax);
    const over = new AbortController();
    this.#beating.add(over);
    this.#stragglers.push(this.#beat(task, everyMs, over.signal));
    try {
      const settled = await act();
      if (settled === "again" && !over.signal.aborted) this.#stragglers.push(task.beatUnlessFresh());
      return settled;
    } finally {
      this.#beating.delete(over);
      over.abort();
    }
  }

  /** The invocation ends: no heart beats any more, not for a record that hangs either. */
  close(): void {
    for (const over of this.#beating) over.abort();
  }

  async #beat(task: Task, everyMs: number, over: AbortSignal): Promise<void> {
    while (!over.aborted && !task.isGone) {
      const isHeard = await task.beat();
      await this.#world.clock.sleep(isHeard ? everyMs : everyMs * againAfter, over);
    }
  }
}

class Task {
  readonly #world: Seen;
  readonly #token: string;
  readonly #tags: Tags;
  #beatAtMs = 0;
  isGone = false;

  constructor(world: Seen, token: string, tags: Tags) {
    this.#world = world;
    this.#token = token;
    this.#tags = tags;
  }

  async beatUnlessFresh(): Promise<void> {
    if (!this.isGone && this.#world.clock.nowMs() - this.#beatAtMs > freshMs) await this.beat();
  }

  /** Whether somebody heard. */
  async beat(): Promise<boolean> {
    const { announcer, clock, telemetry } = this.#world;
    this.#beatAtMs = clock.nowMs();
    try {
      const how = await announcer.beat(this.#token);
      if (how === "gone" && !this.isGone) {
        this.isGone = true;
        telemetry.note({ ...this.#tags, kind: "task-gone" });
      }
      return true;
    } catch (error) {
      telemetry.note({ ...this.#tags, kind: "trouble", what: "send a task's heartbeat", error: errorName(error) });
      return false;
    }
  }
}
