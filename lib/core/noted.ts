import type { Usage } from "./attempt.ts";
import type { FailureKind } from "./failure.ts";
import type { JsonObject } from "./json.ts";
import type { Lane } from "./lane.ts";
import type { ReplyTo } from "./reply-to.ts";
import type { ReplyCode, ReplyStatus } from "./reply.ts";
import type { ParkReason, RequeueCause } from "./settlement.ts";

/** What stands on every line and metric about a job. */
export interface Tags {
  readonly jobId?: string;
  readonly messageId?: string;
  readonly lane?: Lane;
  readonly model?: string;
  readonly target?: string;
  readonly fence?: number;
  readonly attempt?: number;
}

/** What happened, without whose job it happened to. */
export type Happened = Noted extends infer N ? (N extends Tags ? Omit<N, keyof Tags> : never) : never;

/** Everything that is worth a log line or a metric, once, as data. Times are ms. */
export type Noted = Tags &
  (
    | { readonly kind: "delivered"; readonly jobAgeMs: number; readonly receives: number }
    | { readonly kind: "claimed"; readonly queueMs: number }
    /** A message that another delivery, an earlier reply or a copy in this batch makes superfluous. */
    | { readonly kind: "duplicate"; readonly why: "done" | "held" | "same-message" }
    | { readonly kind: "refused"; readonly field: string }
    | { readonly kind: "parked"; readonly reason: ParkReason }
    /** A message whose job this delivery does not run. */
    | { readonly kind: "hidden"; readonly why: string; readonly delayS: number }
    /** So many messages are hidden that delays are cut short. */
    | { readonly kind: "crowded"; readonly hidden: number }
    | { readonly kind: "stage"; readonly stage: string }
    | { readonly kind: "step-skipped"; readonly reason: string }
    /** `inUse` of `limit`, at the target, when it was taken: as if all its pages were as full as the one that was seen. */
    | {
        readonly kind: "lease-taken";
        readonly waitMs: number;
        readonly atOnce: boolean;
        readonly inUse: number;
        readonly limit: number;
      }
    /** `error`: the class of what the table met, where that was the reason. */
    | { readonly kind: "lease-refused"; readonly reason: string; readonly waitMs: number; readonly error?: string }
    | { readonly kind: "lease-returned"; readonly heldMs: number }
    | { readonly kind: "lease-reclaimed"; readonly count: number }
    | { readonly kind: "lease-lost" }
    | { readonly kind: "lease-return-failed"; readonly error: string }
    | { readonly kind: "limit-cut"; readonly from: number; readonly to: number }
    | { readonly kind: "limit-raised"; readonly from: number; readonly to: number }
    /** By an attempt's failure: nobody asks the target before `untilMs`. */
    | { readonly kind: "breaker-opened"; readonly untilMs: number }
    /** The next attempt finds out for all whether the target works again. */
    | { readonly kind: "breaker-probe" }
    | { readonly kind: "breaker-closed" }
    | {
        readonly kind: "attempted";
        readonly outcome: "answered" | FailureKind | "cut";
        readonly name: string;
        readonly tookMs: number;
        readonly usage: Usage;
        readonly costUsd?: number;
      }
    /** What the lane has spent today, of its budget, after a container's attempts have been added. */
    | { readonly kind: "spent"; readonly spentUsd: number; readonly budgetUsd: number; readonly usedPercent: number }
    /** A step behind the first is about to be tried. */
    | { readonly kind: "fallback" }
    /** The request and its answer, only where the config has switched `logPayloads` on. */
    | { readonly kind: "payload"; readonly params: JsonObject; readonly output: JsonObject }
    | { readonly kind: "requeued"; readonly cause: RequeueCause; readonly delayS: number }
    | { readonly kind: "unknown-model"; readonly name: string; readonly releases: number; readonly delayS: number }
    | {
        readonly kind: "replied";
        readonly status: ReplyStatus;
        readonly code?: ReplyCode;
        readonly totalMs: number;
        readonly sleptMs: number;
        readonly leaseWaitMs: number;
        readonly fallbackUsed: boolean;
      }
    | { readonly kind: "reply-store-failed"; readonly error: string }
    /** The replies queue has the reply; the reply-store will tell how the job ended. */
    | { readonly kind: "reply-via-outbox" }
    /** SQS failed too: this container alone has the reply. */
    | { readonly kind: "reply-kept"; readonly error: string }
    /** Too many were kept: the answer is gone, and its job will be asked again. */
    | { readonly kind: "reply-dropped" }
    /** Somebody who waits has been told of the stored reply; `gone`: nobody waits there any more. */
    | { readonly kind: "announced"; readonly by: ReplyTo["kind"]; readonly how: "sent" | "gone" }
    | { readonly kind: "announcement-failed"; readonly by: ReplyTo["kind"]; readonly error: string }
    /** Nobody in Step Functions waits for the job any more while it runs; it runs on, for its reply is kept. */
    | { readonly kind: "task-gone" }
    /** The row, and with it the reply, will be gone before another try: it stays the row's debt. */
    | { readonly kind: "announcement-given-up"; readonly by: ReplyTo["kind"] }
    /** The sweeper has looked at so many rows that were due, and ended so many jobs whose messages were lost. */
    | { readonly kind: "swept"; readonly due: number; readonly ended: number }
    | { readonly kind: "claim-lost" }
    | { readonly kind: "bell" }
    /** The invocation is over. `billedWaitMs`: it did nothing but wait; `overheadMs`: neither Bedrock nor waiting. */
    | { readonly kind: "invoked"; readonly records: number; readonly billedWaitMs: number; readonly overheadMs: number }
    /** Something failed that decides no job's fate; `what` names the act, `error` the error's class. */
    | {
        readonly kind: "trouble";
        readonly what: string;
        readonly error: string;
        /** Neither AWS nor the network failed: a bug of ours, or of a hook's or an adapter's. */
        readonly unexpected?: true;
      }
  );
