import { deliveryOf } from "../../../lib/core/batch.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import {
  laneLimits,
  replyStoreConcurrencyMax,
  replyStoreTimeoutMs,
  sqsBatchEntriesMax,
} from "../../../lib/core/limits.ts";
import type { MemoryQueue } from "../../../lib/memory/queue.ts";
import type { World } from "../../../lib/ports.ts";
import { openWorker } from "../../../lib/worker/open-worker.ts";
import { processBatch } from "../../../lib/worker/process-batch.ts";
import { storeReplies } from "../../../lib/worker/store-replies.ts";
import { boundary } from "./boundary.ts";
import type { Container } from "./container.ts";
import type { FunctionOf } from "./lambda.ts";
import type { Stage } from "./stage.ts";

/** What is otherwise than it should be, in a test of the judges. */
export interface Mutant {
  /** The World itself, behind the wire. */
  readonly world?: (world: World) => World;
  /** The World as the code has it, before the wire. */
  readonly view?: (world: World) => World;
  readonly handler?: typeof processBatch;
  readonly receivesMax?: number;
}

/** A lane's workers, wired as `functions/worker.ts` wires them. */
export function workerOf(lane: Lane, stage: Stage, mutant: Mutant): FunctionOf {
  const { scenario } = stage;
  const queue = stage.queueOf(lane);
  return {
    name: lane,
    queue,
    batchSize: scenario.batchSize ?? laneLimits[lane].batchSize,
    timeoutMs: scenario.timeoutMs ?? laneLimits[lane].functionTimeoutMs,
    concurrency: scenario.concurrency,
    open(container, version) {
      const config = scenario.configs[version % scenario.configs.length] ?? scenario.configs[0];
      const identity = { lane, name: container.name, version: String(version), digest: (text: string) => text };
      const worker = openWorker(worldOf(container, stage, queue, mutant), config, identity);
      const handle = mutant.handler ?? processBatch;
      return (received, endsAtMs) => {
        const nowMs = container.clock.nowMs();
        const deliveries = received.map((record) => deliveryOf(record, lane, nowMs));
        return handle(worker, deliveries, endsAtMs);
      };
    },
  };
}

/** The reply-store, as `functions/reply-store.ts` wires it. */
export function replyStoreOf(stage: Stage, mutant: Mutant): FunctionOf {
  const [config] = stage.scenario.configs;
  const { queue } = stage.world.outbox;
  return {
    name: "reply-store",
    queue,
    batchSize: sqsBatchEntriesMax,
    timeoutMs: replyStoreTimeoutMs,
    concurrency: replyStoreConcurrencyMax,
    open(container) {
      const store = { config, world: worldOf(container, stage, queue, mutant) };
      return (received, endsAtMs) => storeReplies(store, received, endsAtMs);
    },
  };
}

function worldOf(container: Container, stage: Stage, queue: MemoryQueue, mutant: Mutant): World {
  const shared = { ...stage.world, queue };
  const wire = boundary(mutant.world?.(shared) ?? shared, container, stage);
  return mutant.view?.(wire) ?? wire;
}
