import type { Usage } from "./attempt.ts";
import type { FailureKind } from "./failure.ts";
import type { JsonObject } from "./json.ts";

export type ReplyCode =
  | "invalid_envelope"
  | "model_not_configured"
  | "params_missing"
  | "deadline_exceeded"
  | "cancelled"
  | "no_capacity"
  | "circuit_open"
  | "attempt_timeout"
  | "context_too_small"
  | "target_unavailable"
  | "provider_error"
  | "budget_exhausted"
  | "worker_crashed"
  | "dead_lettered"
  | "internal_error";

export type ReplyStatus = "succeeded" | "failed" | "cancelled" | "expired";

/** Why a job has no output. `message` is for the person who reads it at night. */
export interface ReplyError {
  readonly code: ReplyCode;
  readonly message: string;
  readonly kind?: FailureKind | "envelope" | "capacity" | "breaker" | "crash" | "internal";
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

/** One step of the chain as it went in the delivery that replied. */
export interface StepReport {
  readonly step: string;
  readonly outcome: string;
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
  | (ReplyBase & {
      readonly ok: false;
      readonly status: Exclude<ReplyStatus, "succeeded">;
      readonly error: ReplyError;
    });
