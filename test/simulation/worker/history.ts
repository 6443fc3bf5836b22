import type { JobRow } from "../../../lib/core/claim.ts";
import type { Breaker } from "../../../lib/core/breaker.ts";
import type { Page } from "../../../lib/core/lease.ts";
import type { Noted } from "../../../lib/core/noted.ts";
import type { Fault, FaultKind } from "./faults.ts";
import type { Scenario, Send } from "./scenario.ts";

/** One call over a boundary, as the wire saw it. */
export interface Call {
  readonly id: number;
  /** `port.method` */
  readonly name: string;
  readonly nth: number;
  readonly container: string;
  readonly args: readonly unknown[];
  readonly atMs: number;
  readonly met: readonly FaultKind[];
}

/** What an outsider with the true time has seen. None of it is the worker's own word but `noted`. */
export type Moment = { readonly atMs: number } & (
  | { readonly kind: "sent"; readonly messageId: string }
  | { readonly kind: "received"; readonly messageId: string; readonly container: string }
  | { readonly kind: "deleted"; readonly messageId: string }
  | { readonly kind: "parked"; readonly messageId: string; readonly reason: string }
  | { readonly kind: "dead-lettered"; readonly messageId: string }
  | { readonly kind: "cancel"; readonly jobId: string }
  | { readonly kind: "called"; readonly call: Call }
  /** The container has the answer (`heard`), or an error. */
  | { readonly kind: "ended"; readonly call: Call; readonly heard: boolean; readonly answer?: unknown }
  /** A job's row after a write; `call` is whose it was, unless it came from outside. */
  | { readonly kind: "row"; readonly call?: Call; readonly before: JobRow | undefined; readonly after: JobRow }
  /** The replies queue has the reply of a job. */
  | { readonly kind: "posted"; readonly jobId: string }
  /** Somebody was told of a reply, its JSON text. */
  | { readonly kind: "announced"; readonly jobId: string; readonly to: string; readonly reply: string }
  /** A ledger's page around a write; `out`: all leases of the ledger after it. */
  | {
      readonly kind: "page";
      readonly call: Call;
      readonly ledger: string;
      readonly before: Page;
      readonly after: Page;
      readonly out: Page;
    }
  /** A request has come to Bedrock; `live`: the leases of its target's ledger then. */
  | { readonly kind: "asked"; readonly call: Call; readonly jobId: string; readonly step: string; readonly live: Page }
  /** It has left Bedrock: `answered`, or the client has gone, or an error. */
  | { readonly kind: "left"; readonly call: Call; readonly outcome: string }
  | { readonly kind: "crashed"; readonly container: string; readonly why: "fault" | "timeout" | "poison" }
  | { readonly kind: "froze"; readonly container: string; readonly untilMs: number }
  | { readonly kind: "began"; readonly container: string; readonly invocation: number; readonly endsAtMs: number }
  | {
      readonly kind: "returned";
      readonly container: string;
      readonly invocation: number;
      /** Calls and timers that it has left under way. */
      readonly left: readonly string[];
      readonly threw?: unknown;
    }
  | { readonly kind: "noted"; readonly container: string; readonly event: Noted }
);

export type MomentOf<Kind extends Moment["kind"]> = Extract<Moment, { readonly kind: Kind }>;

/** `send`: what the scenario says of it; a message of the replies queue has none. */
export interface Message {
  readonly jobId?: string;
  readonly send?: Send;
  /** It is now another message, of a dead-letter queue. */
  readonly isMoved?: true;
  /** An operator has deleted it. */
  readonly isPurged?: true;
}

/** A run from its first message until long after its last. */
export interface History {
  readonly scenario: Scenario;
  readonly faults: readonly Fault[];
  readonly moments: readonly Moment[];
  /** All messages of all queues. */
  readonly messages: ReadonlyMap<string, Message>;
  /** The most leases of each ledger, of all configs at work. */
  readonly limits: ReadonlyMap<string, number>;
  /** Calls by boundary. */
  readonly counts: ReadonlyMap<string, number>;
  readonly end: {
    readonly atMs: number;
    readonly rows: readonly JobRow[];
    /** Of each ledger, all pages together. */
    readonly leases: ReadonlyMap<string, Page>;
    readonly breakers: ReadonlyMap<string, Breaker>;
    /** Messages that are still in a queue. */
    readonly waiting: number;
    /** Why it was given up before its end. */
    readonly stuck?: string;
  };
}

export function momentsOf<Kind extends Moment["kind"]>(history: History, kind: Kind): readonly MomentOf<Kind>[] {
  return history.moments.filter((moment): moment is MomentOf<Kind> => moment.kind === kind);
}

/** Of a claim, an ask, a request: whatever names a job. */
export function jobIdOf([asked]: readonly unknown[]): string {
  if (typeof asked !== "object" || asked === null || !("jobId" in asked)) return "";
  return typeof asked.jobId === "string" ? asked.jobId : "";
}
