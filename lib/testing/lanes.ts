import { digest } from "../client/meant.ts";
import type { Config } from "../core/config.ts";
import { laneLimits, queueVisibilityS } from "../core/limits.ts";
import { byLane, lanes } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { invoke } from "../memory/invoke.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { MemoryQueue } from "../memory/queue.ts";
import { createMemoryWorker } from "../memory/world.ts";
import type { World } from "../ports.ts";
import type { Worker } from "../worker/invocation.ts";

/** The three queues and their workers, with what Lambda does between them: as many invocations as there are batches. */
export class Lanes {
  readonly queues: Readonly<Record<Lane, MemoryQueue>>;
  readonly #world: Omit<World, "queue">;
  readonly #config: () => Config;
  readonly #workers = new Map<Lane, Worker>();
  readonly #cancelWake = new Map<Lane, () => void>();
  #invocations = 0;

  constructor(world: Omit<World, "queue">, config: () => Config) {
    this.#world = world;
    this.#config = config;
    const queueOf = (lane: Lane) =>
      createMemoryQueue(world.clock, {
        visibilityS: queueVisibilityS(lane),
        receivesMax: laneLimits[lane].receivesMax,
      });
    this.queues = byLane(queueOf);
  }

  /** No message is left, seen or unseen, and no invocation runs. */
  get isDone(): boolean {
    const left = lanes
      .map((lane) => this.queues[lane].depth())
      .reduce((sum, { visible, hidden }) => sum + visible + hidden, 0);
    return left === 0 && this.#invocations === 0;
  }

  /** Begins with what is visible; what becomes visible later is begun in its time. */
  begin(): void {
    for (const lane of lanes) this.#begin(lane);
  }

  #begin(lane: Lane): void {
    const { clock } = this.#world;
    const queue = this.queues[lane];
    for (;;) {
      const received = queue.receive(laneLimits[lane].batchSize);
      if (received.length === 0) break;
      this.#invocations += 1;
      void invoke(this.#workerOf(lane), queue, received).finally(() => {
        this.#invocations -= 1;
        this.#begin(lane);
      });
    }
    this.#cancelWake.get(lane)?.();
    const nextMs = queue.nextVisibleAtMs();
    if (nextMs === undefined) this.#cancelWake.delete(lane);
    else
      this.#cancelWake.set(
        lane,
        clock.after(nextMs - clock.nowMs(), () => this.#begin(lane)),
      );
  }

  /** One warm container a lane, for as long as the config is the same. */
  #workerOf(lane: Lane): Worker {
    const config = this.#config();
    const warm = this.#workers.get(lane);
    if (warm?.config === config) return warm;
    const worker = createMemoryWorker({ ...this.#world, queue: this.queues[lane] }, config, lane, digest);
    this.#workers.set(lane, worker);
    return worker;
  }
}
