/**
 * What failed, by what it means for the job. `hung` is our own attempt bound or Bedrock's; everything else is told by
 * the provider's error name and status.
 */
export type FailureKind = "throttled" | "daily" | "not-ready" | "transient" | "hung" | "target" | "context" | "fatal";

export interface Failure {
  readonly kind: FailureKind;
  /** The provider's name for it, `ThrottlingException`; safe to log. */
  readonly name: string;
  readonly status?: number;
  /** What the server asked us to wait: its own answer wins over our schedule. 0–900,000 ms. */
  readonly retryAfterMs?: number;
  /** The provider's own words, for the reply alone: they may quote the request, so they are never logged. */
  readonly text?: string;
}

/** An error of a Bedrock call as plain facts; adapters fill in what they saw and interpret nothing. */
export interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly status?: number;
  /** Lower-cased response headers that may speak of waiting: `retry-after`, `x-amz-retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** ModelErrorException's originalStatusCode. */
  readonly originalStatus?: number;
  readonly expectedQueueDelayMs?: number;
  /** A Node or SDK error code: `ECONNRESET`, `TimeoutError`. */
  readonly code?: string;
}
