import type { Config } from "../core/config.ts";
import { laneLimits, queueVisibilityS } from "../core/limits.ts";
import type { Lane } from "../core/lane.ts";
import type { Noted } from "../core/noted.ts";
import type { World } from "../ports.ts";
import type { Worker } from "../worker/invocation.ts";
import { openWorker } from "../worker/open-worker.ts";
import type { ScriptText } from "./bedrock-script.ts";
import { createMemoryAnnouncer } from "./announcer.ts";
import type { MemoryAnnouncer } from "./announcer.ts";
import { createVirtualClock } from "./clock.ts";
import type { VirtualClock } from "./clock.ts";
import { createMemoryJobTable } from "./job-table.ts";
import type { MemoryJobTable } from "./job-table.ts";
import { createMemoryLeaseTable } from "./lease-table.ts";
import { scriptedModels } from "./models.ts";
import type { ScriptedModels } from "./models.ts";
import { createMemoryObjects } from "./objects.ts";
import type { MemoryObjects } from "./objects.ts";
import { createMemoryOutbox } from "./outbox.ts";
import type { MemoryOutbox } from "./outbox.ts";
import { createMemoryQueue } from "./queue.ts";
import type { MemoryQueue } from "./queue.ts";

/** The World of one lane's workers in memory, under a virtual clock: every adapter is the one the contract suites hold. */
export interface MemoryWorld extends World {
  readonly clock: VirtualClock;
  readonly jobs: MemoryJobTable;
  readonly queue: MemoryQueue;
  readonly models: ScriptedModels;
  readonly objects: MemoryObjects;
  readonly outbox: MemoryOutbox;
  readonly announcer: MemoryAnnouncer;
  /** All that was noted, in order. */
  readonly noted: readonly Noted[];
}

export function createMemoryWorld(at: {
  readonly startMs: number;
  readonly lane: Lane;
  readonly seed?: number;
  readonly script?: ScriptText;
}): MemoryWorld {
  const clock = createVirtualClock(at.startMs, at.seed);
  const noted: Noted[] = [];
  return {
    clock,
    jobs: createMemoryJobTable(),
    leases: createMemoryLeaseTable(),
    queue: createMemoryQueue(clock, {
      visibilityS: queueVisibilityS(at.lane),
      receivesMax: laneLimits[at.lane].receivesMax,
    }),
    models: scriptedModels(clock, at.script),
    objects: createMemoryObjects(),
    outbox: createMemoryOutbox(clock),
    announcer: createMemoryAnnouncer(),
    telemetry: { note: (event) => void noted.push(event) },
    noted,
  };
}

/** A container of its own on that world; `world` may wrap it, to lose answers or to count calls. */
export function createMemoryWorker(
  world: World,
  config: Config,
  lane: Lane,
  // The text itself tells contents apart, and is the same wherever it is computed.
  digest = (text: string): string => text,
): Worker {
  return openWorker(world, config, { lane, name: `memory-${lane}`, version: "0", digest });
}
