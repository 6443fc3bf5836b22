import { isObject } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { effectiveLane } from "./lane.ts";
import type { Lane } from "./lane.ts";
import { laneLimits } from "./limits.ts";
import type { Envelope } from "./envelope.ts";

/** One message as a worker holds it: the SQS record, read once, with the queue's facts as numbers. */
export interface Delivery {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  /** The lane of the queue it came by. */
  readonly lane: Lane;
  readonly enqueuedAtMs: number;
  readonly receives: number;
  /** By the dead-letter queue of that lane, where receives are no budget any more. */
  readonly isDead?: boolean;
  /** When this worker got it, its own clock. */
  readonly receivedAtMs: number;
  readonly tenant?: string;
  readonly traceHeader?: string;
}

/** One LLM call that somebody asked for: an envelope with what its delivery adds. */
export interface Job extends Omit<Envelope, "lane" | "deadlineAtMs"> {
  readonly lane: Lane;
  readonly enqueuedAtMs: number;
  readonly deadlineAtMs: number;
  /** Names the content: the same jobId with another hash is another job's and never run. */
  readonly contentHash: string;
}

/** `contentHash` is the digest of {@link contentOf} of the same envelope. */
export function jobOf(envelope: Envelope, delivery: Delivery, contentHash: string): Job {
  const lane = effectiveLane(envelope.lane, delivery.lane);
  const { deadlineMsDefault, deadlineMsMax } = laneLimits[lane];
  const latestMs = delivery.enqueuedAtMs + deadlineMsMax;
  const { lane: _lane, deadlineAtMs, ...rest } = envelope;
  return {
    ...rest,
    ...(rest.tenant === undefined && delivery.tenant !== undefined ? { tenant: delivery.tenant } : {}),
    lane,
    enqueuedAtMs: delivery.enqueuedAtMs,
    deadlineAtMs: Math.min(deadlineAtMs ?? delivery.enqueuedAtMs + deadlineMsDefault, latestMs),
    contentHash,
  };
}

/** The part of an envelope that makes a job what it is, as text with one spelling: keys sorted at every depth. */
export function contentOf(envelope: Envelope): string {
  const { model, op, params, operation, fallback } = envelope;
  return canonical({ model, op, params, operation, fallback });
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isObject(inner) ? sorted(inner) : inner));
}

function sorted(object: JsonObject): JsonObject {
  // mutant: `<` → `<=`: no two keys are the same.
  // mutant: `1` → `2`: only the sign counts.
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
