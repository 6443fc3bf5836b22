import type { Config } from "../../../lib/core/config.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import type { Fault } from "./faults.ts";
import type { OverrideAsk } from "../../../lib/core/override.ts";

/** How a message ends: its job's status, with the code of a failure, or the reason for which it is parked. */
export type Fate = string;

export interface Send {
  readonly lane: Lane;
  readonly atMs: number;
  readonly body: string;
  /** Absent: the body names no job. */
  readonly jobId?: string;
  /** Who waits to be told of the reply, as one text. */
  readonly waits?: string;
  /** The first is its fate when nothing goes wrong; the others may come of faults. */
  readonly fates: readonly [Fate, ...Fate[]];
}

export interface Scenario {
  readonly name: string;
  readonly sends: readonly Send[];
  /** Containers take turns: several are several versions at work. */
  readonly configs: readonly [Config, ...Config[]];
  readonly script: ScriptText;
  readonly objects?: Readonly<Record<string, string>>;
  /** Invocations of a lane at once. */
  readonly concurrency: number;
  readonly batchSize?: number;
  readonly timeoutMs?: number;
  readonly cancels?: readonly { readonly jobId: string; readonly atMs: number }[];
  readonly overrides?: readonly (OverrideAsk & { readonly atMs: number })[];
  /** When it begins, epoch ms; absent: at noon. */
  readonly startMs?: number;
  /** Nobody knows how it must go, only how it may. */
  readonly isWild?: true;
  /** What goes wrong in every run of it. */
  readonly faults?: readonly Fault[];
  /** An operator empties the queues then. */
  readonly purgedAtMs?: number;
  /** SQS gives a message up after so many receives. */
  readonly receivesMax?: number;
  /** The container that asks for this job dies of it. */
  readonly poison?: string;
}
