import { deliveryOf } from "../../../lib/core/batch.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import {
  deadLettersConcurrencyMax,
  deadLettersTimeoutMs,
  laneLimits,
  replyStoreConcurrencyMax,
  replyStoreTimeoutMs,
  sqsBatchEntriesMax,
  sweeperTimeoutMs,
} from "../../../lib/core/limits.ts";
import type { MemoryQueue } from "../../../lib/memory/queue.ts";
import type { World } from "../../../lib/ports.ts";
import { openWorker } from "../../../lib/worker/open-worker.ts";
import { processBatch } from "../../../lib/worker/process-batch.ts";
import { processDeadLetters } from "../../../lib/worker/dead-letters.ts";
import { storeReplies } from "../../../lib/worker/store-replies.ts";
import { sweep } from "../../../lib/worker/sweep.ts";
import { boundary } from "./boundary.ts";
import { Container } from "./container.ts";
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
    onDeadLetter: (message) => stage.bury(lane, message),
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

/** A lane's dead-letter worker, as `functions/dead-letters.ts` wires it. */
export function deadLettersOf(lane: Lane, stage: Stage, mutant: Mutant): FunctionOf {
  const [config] = stage.scenario.configs;
  const queue = stage.graveOf(lane);
  return {
    name: `dead-${lane}`,
    queue,
    batchSize: laneLimits[lane].batchSize,
    timeoutMs: deadLettersTimeoutMs,
    concurrency: deadLettersConcurrencyMax,
    open(container) {
      const identity = { lane, name: container.name, version: "0", digest: (text: string) => text };
      const worker = openWorker(worldOf(container, stage, queue, mutant), config, identity);
      return (received, endsAtMs) => {
        const nowMs = container.clock.nowMs();
        const deliveries = received.map((record) => deliveryOf(record, lane, nowMs));
        return processDeadLetters(worker, deliveries, endsAtMs);
      };
    },
  };
}

/** The sweeper, as `functions/sweeper.ts` wires it: one look by a sandbox of its own. */
export async function sweepOnce(number: number, stage: Stage, mutant: Mutant): Promise<void> {
  const [config] = stage.scenario.configs;
  const container = new Container(`sweeper-${number}`, stage.clock, 0);
  const world = worldOf(container, stage, stage.world.queue, mutant);
  const endsAtMs = container.clock.nowMs() + sweeperTimeoutMs;
  await sweep({ config, name: container.name, version: "0", world }, endsAtMs);
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
