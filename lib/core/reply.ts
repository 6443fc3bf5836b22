import { noUsage } from "./attempt.ts";
import type { Usage } from "./attempt.ts";
import { noProgress } from "./claim.ts";
import type { JobRow } from "./claim.ts";
import { stepParts } from "./config.ts";
import type { Price } from "./config.ts";
import type { FailureKind } from "./failure.ts";
import { isObject, parseJson } from "./json.ts";
import type { JsonObject } from "./json.ts";

export const replyCodes = [
  "invalid_envelope",
  "model_not_configured",
  "params_missing",
  "deadline_exceeded",
  "cancelled",
  "no_capacity",
  "circuit_open",
  "attempt_timeout",
  "context_too_small",
  "target_unavailable",
  "provider_error",
  "budget_exhausted",
  "worker_crashed",
  "dead_lettered",
  "internal_error",
] as const;

export type ReplyCode = (typeof replyCodes)[number];

/** When the row of a job that ends now may go, in epoch seconds: DynamoDB's TTL takes nothing finer. */
export function replyTtlS(nowMs: number, ttlDays: number): number {
  return Math.ceil(nowMs / 1_000) + ttlDays * 86_400;
}

export const replyStatuses = ["succeeded", "failed", "cancelled", "expired"] as const;

export type ReplyStatus = (typeof replyStatuses)[number];

export function isReplyStatus(value: unknown): value is ReplyStatus {
  return replyStatuses.some((status) => status === value);
}

/** Why a job has no output. `message` is for the person who reads it at night, and quotes nothing. */
export interface ReplyError {
  readonly code: ReplyCode;
  readonly message: string;
  /** The provider's own words, cut to 300 characters. They may quote the request: they are the sender's alone. */
  readonly providerMessage?: string;
  readonly kind?: FailureKind | "envelope" | "capacity" | "budget" | "breaker" | "crash" | "internal";
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

/** One step of the chain as it went in the delivery that replied. */
export interface StepReport {
  readonly step: string;
  readonly outcome: string;
  /** Of the limit over several targets that was full. */
  readonly ledger?: string;
  readonly attempts: number;
}

/** Times are ms. */
export interface ReplyMeta {
  readonly model: string;
  readonly target?: string;
  readonly modelId?: string;
  readonly fallbackUsed: boolean;
  readonly attempts: number;
  readonly deliveries: number;
  readonly queueMs: number;
  readonly leaseWaitMs: number;
  readonly providerMs: number;
  readonly totalMs: number;
  readonly sleptMs: number;
  readonly usage: Usage;
  readonly steps: readonly StepReport[];
  readonly worker: string;
  readonly workerVersion: string;
  /** X-Ray's header of the message, if it had one. */
  readonly trace?: string;
}

/** Of a job that no worker has run. */
export const noMeta: ReplyMeta = {
  model: "",
  fallbackUsed: false,
  attempts: 0,
  deliveries: 0,
  queueMs: 0,
  leaseWaitMs: 0,
  providerMs: 0,
  totalMs: 0,
  sleptMs: 0,
  usage: noUsage,
  steps: [],
  worker: "",
  workerVersion: "",
};

/** What its row tells of a job, for a reply by one who did not run it. A job that nobody has claimed has no model there. */
export function metaOfRow(
  row: JobRow | undefined,
  nowMs: number,
  by: Pick<ReplyMeta, "worker" | "workerVersion">,
): ReplyMeta {
  const known = { enqueuedAtMs: nowMs, startedAtMs: nowMs, fence: 0, step: "", ...noProgress, ...row };
  const { enqueuedAtMs, startedAtMs, fence, step, requests, leaseWaitMs, providerMs, sleptMs, usage } = known;
  return {
    ...noMeta,
    ...by,
    model: stepParts(step).model,
    attempts: requests,
    deliveries: fence,
    queueMs: Math.max(0, startedAtMs - enqueuedAtMs),
    leaseWaitMs,
    providerMs,
    totalMs: Math.max(0, nowMs - enqueuedAtMs),
    sleptMs,
    usage,
  };
}

interface ReplyBase {
  readonly jobId: string;
  readonly meta: ReplyMeta;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The one final answer of a job. */
export type Reply =
  | (ReplyBase & { readonly ok: true; readonly status: "succeeded"; readonly output: JsonObject })
  | (ReplyBase & { readonly ok: true; readonly status: "succeeded"; readonly outputRef: string })
  /** Its output was forgotten. */
  | (ReplyBase & { readonly ok: true; readonly status: "succeeded"; readonly forgottenAtMs: number })
  | (ReplyBase & {
      readonly ok: false;
      readonly status: Exclude<ReplyStatus, "succeeded">;
      readonly error: ReplyError;
      /** Its metadata were forgotten. */
      readonly forgottenAtMs?: number;
    });

/** How a job ended; a reply is that, with its story. */
export type Ending =
  | { readonly kind: "succeeded"; readonly output: JsonObject }
  | { readonly kind: "failed"; readonly error: ReplyError }
  | { readonly kind: "cancelled" }
  | { readonly kind: "expired"; readonly error?: ReplyError };

/** A job without an answer: whatever kept it from one until its deadline, that is what it ended of. */
export function endingOf(error: ReplyError): Ending {
  return error.code === "deadline_exceeded" ? { kind: "expired", error } : { kind: "failed", error };
}

export function replyOf(job: Pick<ReplyBase, "jobId" | "metadata">, ending: Ending, meta: ReplyMeta): Reply {
  const base = { jobId: job.jobId, meta, metadata: job.metadata };
  switch (ending.kind) {
    case "succeeded":
      return { ...base, ok: true, status: "succeeded", output: ending.output };
    case "failed":
      return { ...base, ok: false, status: "failed", error: ending.error };
    case "cancelled":
      return { ...base, ok: false, status: "cancelled", error: cancelledError };
    case "expired":
      return { ...base, ok: false, status: "expired", error: ending.error ?? expiredError };
  }
}

const cancelledError: ReplyError = {
  code: "cancelled",
  message: "The job was cancelled before it had an answer. To run it after all, send it under another jobId.",
  retryable: false,
};

const expiredError: ReplyError = {
  code: "deadline_exceeded",
  message: "The job's deadline passed before it had an answer. Send it under another jobId with a later deadlineAt.",
  retryable: true,
};

/** The reply in a job's row, which a worker has written. */
export function replyIn({ reply: text }: { readonly reply?: string }): Reply | undefined {
  if (text === undefined) return undefined;
  const reply: Reply = JSON.parse(text);
  return reply;
}

/** An error's message for others than the sender: earlier versions quoted the provider there. */
export function ownSentence(message: string): string {
  return message.replace(/: "[^]*"(?=; )/, "");
}

/**
 * A stored reply as the sender of a message is told it. A cancel and the sweeper have no message in hand: what they wrote gets
 * the metadata of the one that asks. `reply`: its JSON text.
 */
export function echoing(reply: string, metadata: ReplyBase["metadata"]): string {
  if (Object.keys(metadata).length === 0) return reply;
  const stored = parseJson(reply);
  if (!isObject(stored) || stored["ok"] !== false || stored["forgottenAtMs"] !== undefined) return reply;
  const { metadata: its } = stored;
  return isObject(its) && Object.keys(its).length > 0 ? reply : JSON.stringify({ ...stored, metadata });
}

/** Whether a stored reply has this code; a text that cannot be read has none. */
export function hasCode(reply: string | undefined, code: ReplyCode): boolean {
  const value = reply === undefined ? undefined : parseJson(reply);
  return isObject(value) && isObject(value["error"]) && value["error"]["code"] === code;
}

/** USD for the tokens that were surely billed; cached ones cost as much as input where the price names nothing else. */
export function costUsd(usage: Usage, price: Price): number {
  const { inputPerMTok, outputPerMTok, cacheReadPerMTok = inputPerMTok, cacheWritePerMTok = inputPerMTok } = price;
  return (
    (usage.inputTokens * inputPerMTok +
      usage.outputTokens * outputPerMTok +
      usage.cacheReadTokens * cacheReadPerMTok +
      usage.cacheWriteTokens * cacheWritePerMTok) /
    1_000_000
  );
}

/**
 * A reply, or a part of one, as JSON text. An answer that was paid for is never lost to what JSON does not know: bytes
 * become base64, BigInt its digits, NaN null; a cycle is cut, and a part that throws when it is read says so.
 */
export function replyText(value: unknown): string {
  try {
    return JSON.stringify(value, asJson) ?? "null";
  } catch {
    return JSON.stringify(plain(value, [])) ?? "null";
  }
}

/** A replacer sees a value after its `toJSON`; a Buffer's would spell each byte, so the original is looked at. */
function asJson(this: unknown, key: string, value: unknown): unknown {
  const original = isIndexed(this) ? this[key] : value;
  if (original instanceof Uint8Array) return base64(original);
  return typeof value === "bigint" ? value.toString() : value;
}

const depthMax = 500;

function plain(value: unknown, within: readonly object[]): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function") return undefined; // among them a toJSON that threw
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (!isIndexed(value)) return value;
  if (within.includes(value)) return "[cycle]";
  if (within.length >= depthMax) return "[too deep]";
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((item: unknown) => plain(item, inside));
  return Object.fromEntries(Object.keys(value).map((key) => [key, plain(read(value, key), inside)]));
}

function read(from: Readonly<Record<string, unknown>>, key: string): unknown {
  try {
    return from[key];
  } catch {
    return "[unreadable]";
  }
}

function isIndexed(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
