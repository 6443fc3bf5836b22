import type { Usage } from "./core/attempt.ts";
import type { Breaker } from "./core/breaker.ts";
import type { Addition, BudgetDay } from "./core/budget.ts";
import type { Claim, ClaimAnswer, ClaimAsk, Completed, JobRow, Owned, Progress, ReleaseAsk } from "./core/claim.ts";
import type { Op } from "./core/config.ts";
import type { ProviderError } from "./core/failure.ts";
import type { Json, JsonObject } from "./core/json.ts";
import type { Head, Page, PageRef } from "./core/lease.ts";
import type { Lane } from "./core/lane.ts";
import type { Charge, Charged, Clocks, Quota, Toll } from "./core/rate.ts";
import type { Noted } from "./core/noted.ts";
import type { OverrideAsk, OverrideRows } from "./core/override.ts";
import type { Depths } from "./core/overview.ts";
import type { Step } from "./core/plan.ts";
import type { ReplyStatus } from "./core/reply.ts";
import type { ReplyTo } from "./core/reply-to.ts";
import type { StageRow } from "./core/stage.ts";
import type { Due } from "./core/sweep.ts";

/**
 * The World: all that the worker asks of what is outside, in domain words. Every port has an adapter on AWS and one in
 * memory, held to one contract suite (but telemetry, which answers nothing). A refusal is a value; a throw means that
 * the infrastructure failed.
 */
export interface World {
  readonly clock: Clock;
  readonly jobs: JobTable;
  readonly leases: LeaseTable;
  readonly queue: Queue;
  readonly models: Models;
  readonly objects: Objects;
  readonly outbox: Outbox;
  readonly announcer: Announcer;
  readonly telemetry: Telemetry;
}

/** Time and dice. */
export interface Clock {
  /** Epoch ms. */
  nowMs(): number;
  /** Ends early, without an error, when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once, unless the returned function was called before. */
  after(ms: number, fire: () => void): () => void;
  /** Uniform in [0, 1). */
  jitter(): number;
  /** 12 url-safe characters, never twice. */
  newId(): string;
}

/** The job table. */
export interface JobTable {
  claim(ask: ClaimAsk): Promise<ClaimAnswer>;
  /** The heartbeat's write: the claim holds until later, and the stage rides along. */
  extend(
    claim: Claim,
    ask: { readonly nowMs: number; readonly heldUntilMs: number; readonly stage: StageRow },
  ): Promise<Owned>;
  /** Back to `queued`, progress and `notBefore` saved, holder and fence kept. */
  giveBack(claim: Claim, ask: GiveBackAsk): Promise<Owned>;
  /** Reply and completion in one write; one winner, ever. */
  complete(claim: Claim, ask: CompleteAsk): Promise<Completed>;
  /** Counts a release of a model that this worker does not know; no claim is taken. */
  countRelease(ask: ReleaseAsk): Promise<ClaimAnswer>;
  /** A reply for a job that has no row yet: of a damaged envelope, which must not end a good job. */
  replyUnclaimed(
    jobId: string,
    ask: Omit<CompleteAsk, "progress"> & {
      /** Of the damaged body: what is sent in its place has another, and is told so. */
      readonly contentHash: string;
    },
  ): Promise<Completed>;
  /** A cancel's reply, for a job that waits or has not arrived. */
  replyUnlessRunning(jobId: string, ask: Omit<CompleteAsk, "progress">): Promise<Completed>;
  /** A reply out of the replies queue, with its job's completion: for a job that has none, whoever holds it. */
  storeReply(jobId: string, ask: StoreReplyAsk): Promise<Completed>;
  /** A destination has been told of the reply. Idempotent; a row that is gone is not made again. */
  markAnnounced(jobId: string, to: ReplyTo): Promise<void>;
  /** An announcement that failed, for the sweeper to repeat from `dueMs` on; one that was made meanwhile stays made. */
  deferAnnouncement(jobId: string, to: ReplyTo, dueMs: number): Promise<void>;
  /** The sweeper's index: a page of a shard, the longest due first. What it says may be a moment old. */
  readDue(shard: string, beforeMs: number, after?: Due): Promise<DuePage>;
  /** The sweeper has told nobody: it looks again at `dueMs`. Whoever has put the row in anew meanwhile is obeyed. */
  sweepAgain(due: Due, dueMs: number): Promise<void>;
  /** Out of the sweeper's index, unless somebody has put the row in anew meanwhile. */
  swept(due: Due): Promise<void>;
  /** Under which jobIds a job's parked messages were run again; false: the row has gone, or holds others than were seen. */
  noteRerun(jobId: string, seen: JobRow["reruns"], reruns: NonNullable<JobRow["reruns"]>): Promise<boolean>;
  /** Puts what is left of a reply in its place, without its content, if it is still the one that was `seen`. */
  forget(jobId: string, seen: string, left: string): Promise<Completed>;
  /** Sets the cancel flag of a running job. */
  askCancel(jobId: string, nowMs: number): Promise<ClaimAnswer>;
  /** Consistent. */
  read(jobId: string): Promise<JobRow | undefined>;
  /**
   * For operators, whom no index serves: a page of the table, in no order, of which the rows are told that are open, or
   * that ended so. It is read whole, a megabyte or so; `after`: the `next` of the page before.
   */
  scan(which: "open" | ReplyStatus, after?: string): Promise<JobPage>;
  /** Consistent, any number; rows that do not exist are left out. */
  readMany(jobIds: readonly string[]): Promise<readonly JobRow[]>;
}

export interface GiveBackAsk {
  readonly nowMs: number;
  readonly notBeforeMs: number;
  readonly progress: Progress;
  readonly stage: StageRow;
  /** Who waits for the reply. */
  readonly replyTo?: ReplyTo;
}

/** Without `next` there are no more. */
export interface JobPage {
  readonly rows: readonly JobRow[];
  readonly next: string | undefined;
}

/** Without `next` there are no more. */
export interface DuePage {
  readonly due: readonly Due[];
  readonly next: Due | undefined;
}

export interface CompleteAsk {
  readonly nowMs: number;
  /** The reply as JSON text. */
  readonly reply: string;
  readonly status: string;
  /** Epoch seconds after which the row may go. */
  readonly ttlS: number;
  readonly progress: Progress;
  /** Written with the reply, by one whose message will not come again: who is told, by the sweeper from `dueMs` on. */
  readonly owed?: { readonly to: ReplyTo; readonly dueMs: number };
}

/** Without a claim: what it names is the content that was answered. */
export interface StoreReplyAsk extends CompleteAsk {
  readonly contentHash: string;
}

/** The lease table's rows: pages, heads, quotas' clocks, breakers and operators' overrides. The protocol over them is `worker/lease-desk.ts`. */
export interface LeaseTable {
  /**
   * Takes all ids or none, where that keeps the page within `cap` or all are in it already: an entry keeps its expiry.
   * With a toll, the page's clocks are charged for all of them too or nothing is written, and ids that are in it already
   * are refused: they have paid.
   */
  take(ref: PageRef, ids: readonly string[], cap: number, untilMs: number, toll?: Toll): Promise<Taken>;
  /** Makes an empty page, if it does not exist. */
  createPage(ref: PageRef): Promise<void>;
  /** Takes all ids in one write with the removal of `expired`, if those are as seen and the page keeps within `cap`. */
  reclaim(
    ref: PageRef,
    expired: Page,
    ids: readonly string[],
    cap: number,
    untilMs: number,
    toll?: Toll,
  ): Promise<Taken>;
  /** Only ever later; all of the ids or none. */
  renew(ref: PageRef, ids: readonly string[], untilMs: number): Promise<Taken>;
  /**
   * Any number; idempotent, safe at any later time. `backMs`: by how much the page's clock of tokens is set back for an
   * id, in the one write that removes it. Answers the page's clocks, where that is known.
   */
  giveBack(
    ref: PageRef,
    ids: readonly string[],
    backMs?: Readonly<Record<string, number>>,
  ): Promise<Clocks | undefined>;
  /** All that a container must know before it takes a lease, together: one request for up to 100 rows. */
  readBoard(names: BoardNames): Promise<BoardRows>;
  /** Writes the head if it is still as seen; undefined: not written yet. */
  writeHead(ledger: string, seen: Head | undefined, next: Head): Promise<RowWritten<Head>>;
  /** Writes the breaker if it is still as seen; undefined: closed, without a failure. */
  writeBreaker(target: string, seen: Breaker | undefined, next: Breaker): Promise<RowWritten<Breaker>>;
  /**
   * Adds to what a lane has spent on a day, and answers the sum. Sent again before the container's next addition it counts
   * once, unless one that shares its slot has written meanwhile; after it, never. `ttlS`: epoch seconds after which the row
   * may go. Throws if what stands there is no number.
   */
  addSpent(of: BudgetDay, addition: Addition, ttlS: number): Promise<number>;
  /** An operator's override in the place of the one before it. What is learned beside it stays. */
  setOverride(ask: OverrideAsk): Promise<void>;
  /**
   * Charges the clocks on a ledger's head for an attempt, or neither; once, however often it is sent. `seen`: the clocks
   * as they were last known, which spares a write if they still are so.
   */
  charge(ledger: string, charge: Charge, quota: Quota, nowMs: number, seen?: Clocks): Promise<Charged>;
  /** Gives tokens of an attempt back, once; answers the clocks as they stand then. */
  settle(ledger: string, unused: Charge, quota: Quota, nowMs: number, seen?: Clocks): Promise<Clocks>;
  /** The clocks as they are, on the head or the only page, consistent; for operators and tests. */
  readClocks(ledger: string): Promise<Clocks>;
  /** A page as it is, consistent. */
  readPage(ref: PageRef): Promise<Page | undefined>;
}

/**
 * `page` is the row after the write, or the row that refused; undefined: no such page. `clocks`: the page's, where any
 * were ever charged.
 */
export type Taken =
  | { readonly kind: "taken"; readonly page: Page; readonly clocks?: Clocks }
  | { readonly kind: "refused"; readonly page: Page | undefined; readonly clocks?: Clocks };

/** Refused: somebody was faster, or an earlier copy of this write; the row that `stands` says which. */
export type RowWritten<Row> =
  | { readonly kind: "written" }
  | { readonly kind: "refused"; readonly stands: Row | undefined };

/** Whose rows are read together: a ledger's head with the override on it, the others' own rows. */
export interface BoardNames {
  readonly ledgers: readonly string[];
  /** For their breakers. */
  readonly targets: readonly string[];
  readonly lanes: readonly Lane[];
  readonly models: readonly string[];
  /** For what their lanes have spent. */
  readonly budgets?: readonly BudgetDay[];
  /** As they stand now, at twice the price: for whoever writes what he has read. Else they may be a second old. */
  readonly consistent?: true;
}

/** What was never written is left out. */
export interface BoardRows {
  readonly heads: ReadonlyMap<string, Head>;
  readonly breakers: ReadonlyMap<string, Breaker>;
  readonly overrides: OverrideRows;
  /** Nano-USD, by `budgetName`, as they stand in the table. */
  readonly spent: ReadonlyMap<string, Json>;
}

/** The queue that the messages came from, and the parked queue. */
export interface Queue {
  /** ChangeMessageVisibility: hides messages that long from now; each entry has its own outcome. */
  hide(entries: readonly Hide[]): Promise<readonly Hidden[]>;
  /** About how many messages of the queue are in flight: in a worker's hands, or hidden. */
  countHidden(): Promise<number>;
  /** Sends the body to the parked queue with its reason, and where it belongs, as far as that is known. */
  park(
    message: { readonly messageId: string; readonly body: string; readonly lane?: Lane; readonly jobId?: string },
    reason: string,
    detail: string,
  ): Promise<void>;
}

/** How long the queues are that an operator looks at. */
export interface QueueDepths {
  read(): Promise<Depths>;
}

export interface Hide {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly seconds: number;
}

export type Hidden =
  | { readonly kind: "hidden"; readonly messageId: string }
  | { readonly kind: "failed"; readonly messageId: string; readonly name: string };

/** Bedrock: exactly one HTTP request a call. */
export interface Models {
  /** Settles when the body (or the whole stream) has been read; rejects only when the signal fires, with its reason. */
  ask(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
  /**
   * The input tokens of a request as its model counts them, without running it. Never rejects: a model that does not
   * count, a failure and a signal that fires leave them unknown; `name` is the error's, or `Aborted`.
   */
  countTokens(request: Omit<ModelRequest, "jobId">, signal: AbortSignal): Promise<TokenCount>;
}

export type TokenCount =
  | { readonly kind: "counted"; readonly tokens: number }
  | { readonly kind: "unknown"; readonly name: string };

export interface ModelRequest {
  readonly step: Step;
  readonly op: Op;
  /** With the step's overrides; the adapter adds only the model id and the job's. */
  readonly params: JsonObject;
  /** Goes into Bedrock's request metadata, and so into its invocation log. */
  readonly jobId?: string;
}

export type ModelAnswer =
  | { readonly kind: "answered"; readonly output: JsonObject; readonly stopReason?: string; readonly usage: Usage }
  | { readonly kind: "failed"; readonly error: ProviderError; readonly usage: Usage };

export type ObjectRead =
  | { readonly kind: "found"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "no-room" };

/** S3: params too big for a message, outputs too big for a row. */
export interface Objects {
  /**
   * `missing`: no such key, or an object too big to be any request (`objectBytesMax`). Denied or throttled throws. `fits` is
   * asked with the object's bytes before they are read; `no-room`: it said no. Default: whatever there is fits.
   */
  get(bucket: string, key: string, fits?: (bytes: number) => boolean): Promise<ObjectRead>;
  /** Stores an output; answers its `s3://` reference. */
  putOutput(jobId: string, text: string): Promise<string>;
}

/** The replies queue: what the job table could not take waits there, for as long as SQS keeps it. */
export interface Outbox {
  /** Resolves once SQS has the message (`core/outbox.ts`). */
  send(message: string): Promise<void>;
}

/** Tells those who wait for a reply. */
export interface Announcer {
  /** `reply` is its JSON text as stored. `gone`: nobody waits there any more, which is as good. Throws: try again later. */
  announce(to: ReplyTo, reply: string): Promise<"sent" | "gone">;
  /** A task's heartbeat: its job is being worked on. `gone`: the task has ended, or timed out. Throws as `announce` does. */
  beat(token: string): Promise<"alive" | "gone">;
}

/** Logs and metrics. Never throws, never decides. */
export interface Telemetry {
  note(event: Noted): void;
}
