import type { Usage } from "./attempt.ts";
import type { Lane } from "./lane.ts";

/** What a job has used up, over all its deliveries. One budget each; none of them is SQS's receive count. */
export interface Progress {
  /** Requests to Bedrock that count: throttled and not-ready ones do not. */
  readonly attempts: number;
  readonly requeues: number;
  readonly releases: number;
  /** Attempts that the closing bell cut. */
  readonly bellCuts: number;
  /** Deliveries that ended in a bug of ours. */
  readonly bugs: number;
  /** All backoff slept so far. */
  readonly sleptMs: number;
  readonly leaseWaitMs: number;
  readonly providerMs: number;
  readonly usage: Usage;
}

/** One job's row in the job table, as far as it can be read. A row of another format keeps what this code knows. */
export interface JobRow extends Progress {
  readonly jobId: string;
  readonly format: number;
  readonly contentHash?: string;
  readonly state?: "queued" | "running" | "ended";
  readonly holder?: string;
  /** Counts the claims ever taken. */
  readonly fence: number;
  readonly givenBack: number;
  readonly heldUntilMs?: number;
  readonly notBeforeMs?: number;
  readonly deadlineAtMs?: number;
  readonly enqueuedAtMs?: number;
  readonly cancelAsked: boolean;
  /** The final reply as stored: JSON text. */
  readonly reply?: string;
  readonly stage?: string;
  readonly stageAtMs?: number;
  readonly step?: string;
  readonly lane?: Lane;
  readonly worker?: string;
}

/** What a worker asks of the job table to get the right to run a job. */
export interface ClaimAsk {
  readonly jobId: string;
  readonly contentHash: string;
  /** A nonce of this record and delivery. */
  readonly holder: string;
  readonly nowMs: number;
  readonly heldUntilMs: number;
  readonly deadlineAtMs: number;
  readonly enqueuedAtMs: number;
  readonly lane: Lane;
  readonly worker: string;
}

/** The table's answer: the row with our claim on it, or the row that refused (none: the engine could not tell). */
export type ClaimAnswer =
  | { readonly kind: "taken"; readonly row: JobRow }
  | { readonly kind: "refused"; readonly row: JobRow | undefined };

/** The right to run a job. Every later write of its holder names holder and fence. */
export interface Claim {
  readonly jobId: string;
  readonly holder: string;
  readonly fence: number;
}
