import type { Config } from "../../../lib/core/config.ts";
import { deliveryOf } from "../../../lib/core/batch.ts";
import type { Delivery } from "../../../lib/core/job.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import { laneLimits } from "../../../lib/core/limits.ts";
import type { MemoryQueue, ReceivedMessage } from "../../../lib/memory/queue.ts";
import type { World } from "../../../lib/ports.ts";
import type { Worker } from "../../../lib/worker/invocation.ts";
import { openWorker } from "../../../lib/worker/open-worker.ts";
import { processBatch } from "../../../lib/worker/process-batch.ts";
import { boundary } from "./boundary.ts";
import { Container } from "./container.ts";
import type { Stage } from "./stage.ts";

/** What is otherwise than it should be, in a test of the judges. */
export interface Mutant {
  /** The World itself, behind the wire. */
  readonly world?: (world: World) => World;
  /** The World as the worker has it, before the wire. */
  readonly view?: (world: World) => World;
  readonly handler?: typeof processBatch;
  readonly receivesMax?: number;
}

interface Sandbox {
  readonly container: Container;
  readonly worker: Worker;
}

/** One lane's event source mapping and its Lambda: as many sandboxes as it needs, each with one invocation at a time. */
export class Mapping {
  readonly #lane: Lane;
  readonly #stage: Stage;
  readonly #queue: MemoryQueue;
  readonly #mutant: Mutant;
  readonly #skewMs: number;
  readonly #idle: Sandbox[] = [];
  /** The configs at work, for the next sandboxes: one that dies is followed by one of its version. */
  readonly #configs: Config[];
  #made = 0;
  #busy = 0;
  #isLooking = false;
  #cancelLook: () => void = () => undefined;
  #deadLetters = 0;

  constructor(lane: Lane, stage: Stage, skewMs: number, mutant: Mutant) {
    this.#lane = lane;
    this.#stage = stage;
    this.#queue = stage.queueOf(lane);
    this.#skewMs = skewMs;
    this.#mutant = mutant;
    const { concurrency, configs } = stage.scenario;
    this.#configs = Array.from({ length: concurrency }, (_, index) => configs[index % configs.length] ?? configs[0]);
  }

  get isQuiet(): boolean {
    const { visible, hidden } = this.#queue.depth();
    return this.#busy === 0 && visible + hidden === 0;
  }

  /** In a moment, so that what is sent together comes together. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#stage.clock.after(1, () => {
      this.#isLooking = false;
      this.#lookNow();
    });
  }

  #lookNow(): void {
    const { clock, scenario } = this.#stage;
    this.#cancelLook();
    while (this.#busy < scenario.concurrency) {
      const received = this.#queue.receive(scenario.batchSize ?? laneLimits[this.#lane].batchSize);
      this.#seeDeadLetters();
      if (received.length === 0) break;
      void this.#invoke(received);
    }
    const nextMs = this.#queue.nextVisibleAtMs();
    if (nextMs !== undefined) this.#cancelLook = clock.after(nextMs - clock.nowMs(), () => this.look());
  }

  async #invoke(received: readonly ReceivedMessage[]): Promise<void> {
    const { clock, scenario } = this.#stage;
    this.#busy += 1;
    const sandbox = (this.#configs.length > 0 ? undefined : this.#idle.shift()) ?? this.#open();
    const { container, worker } = sandbox;
    const invocation = this.#stage.nextInvocation();
    for (const { messageId, receiptHandle } of received) {
      this.#stage.handles.set(messageId, receiptHandle);
      this.#stage.see({ kind: "received", messageId, container: container.name, invocation });
    }

    const timeoutMs = scenario.timeoutMs ?? laneLimits[this.#lane].functionTimeoutMs;
    this.#stage.see({ kind: "began", container: container.name, invocation, endsAtMs: clock.nowMs() + timeoutMs });
    const nowMs = worker.world.clock.nowMs();
    const records = received.map((record) => deliveryOf(record, this.#lane, nowMs));
    const ended = await this.#run(sandbox, records, nowMs + timeoutMs, timeoutMs);
    if (ended.kind !== "killed") {
      const timers = Array.from({ length: container.timers }, () => "a timer");
      const left = [...this.#stage.underWay(container), ...timers];
      const threw = ended.kind === "threw" ? { threw: ended.error } : {};
      this.#stage.see({ kind: "returned", container: container.name, invocation, left, ...threw });
    }
    if (ended.kind === "returned") this.#delete(received, new Set(ended.again));
    if (container.isDead) this.#configs.push(worker.config);
    else this.#idle.push(sandbox);
    this.#busy -= 1;
    this.look();
  }

  /** Until the handler answers, or its sandbox dies; Lambda kills it at the end of its time. */
  async #run({ container, worker }: Sandbox, records: readonly Delivery[], endsAtMs: number, timeoutMs: number) {
    const handle = this.#mutant.handler ?? processBatch;
    const killed = new Promise<{ readonly kind: "killed" }>((resolve) => {
      container.death.addEventListener("abort", () => resolve({ kind: "killed" }));
    });
    const cancelKill = this.#stage.clock.after(timeoutMs, () => void this.#stage.crash(container, "timeout"));
    const ended = await Promise.race([
      killed,
      handle(worker, records, endsAtMs).then(
        (again) => ({ kind: "returned", again }) as const,
        (error: unknown) => ({ kind: "threw", error }) as const,
      ),
    ]);
    cancelKill();
    return ended;
  }

  #delete(received: readonly ReceivedMessage[], again: ReadonlySet<string>): void {
    for (const { messageId, receiptHandle } of received) {
      if (again.has(messageId)) continue;
      this.#queue.delete(receiptHandle);
      this.#stage.see({ kind: "deleted", messageId });
    }
  }

  #open(): Sandbox {
    const { clock, scenario, world } = this.#stage;
    const number = ++this.#made;
    const skewMs = [0, this.#skewMs, -this.#skewMs][number % 3] ?? 0;
    const container = new Container(`${this.#lane}-${number}`, this.#lane, clock, skewMs);
    const shared = { ...world, queue: this.#queue };
    const wire = boundary(this.#mutant.world?.(shared) ?? shared, container, this.#stage);
    const seen = this.#mutant.view?.(wire) ?? wire;
    const config = this.#configs.shift() ?? scenario.configs[0];
    const identity = { lane: this.#lane, name: container.name, version: "0", digest: (text: string) => text };
    return { container, worker: openWorker(seen, config, identity) };
  }

  #seeDeadLetters(): void {
    const { deadLetters } = this.#queue;
    for (const { messageId } of deadLetters.slice(this.#deadLetters))
      this.#stage.see({ kind: "dead-lettered", messageId });
    this.#deadLetters = deadLetters.length;
  }
}
