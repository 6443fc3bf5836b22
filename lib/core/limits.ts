import type { Lane } from "./lane.ts";

/** Every number that the runtime and the stack share. Units and extremes come last in a name. */
export interface LaneLimits {
  /** Deadline of a job that names none, counted from its enqueueing. */
  readonly deadlineMsDefault: number;
  /** A later deadline is brought down to this. */
  readonly deadlineMsMax: number;
  readonly functionTimeoutMs: number;
  /** The longest one request to Bedrock may take. */
  readonly attemptMsMax: number;
  readonly batchSize: number;
  readonly batchWindowS: number;
  /** The part of every limit that this lane may fill, 0–1. */
  readonly share: number;
  /** The queue's maxReceiveCount: the last net, never a budget. */
  readonly receivesMax: number;
  /** From this receive on, every hiding is stretched so that the receives last until the deadline. */
  readonly receivesStretchedFrom: number;
  /** The longest one delivery sleeps in backoff, all sleeps added up. */
  readonly backoffMsMax: number;
  /** The longest wait for a lease on one step. */
  readonly leaseWaitMsMax: number;
  /** How often the chain is walked in one delivery before capacity counts as missing. */
  readonly walksMax: number;
}

export const laneLimits: Readonly<Record<Lane, LaneLimits>> = {
  rt: {
    deadlineMsDefault: 60_000,
    deadlineMsMax: 5 * 60_000,
    functionTimeoutMs: 90_000,
    attemptMsMax: 45_000,
    batchSize: 1,
    batchWindowS: 0,
    share: 1,
    receivesMax: 50,
    receivesStretchedFrom: 25,
    backoffMsMax: 10_000,
    leaseWaitMsMax: 2_000,
    walksMax: 3,
  },
  bg: {
    deadlineMsDefault: 3_600_000,
    deadlineMsMax: 12 * 3_600_000,
    functionTimeoutMs: 300_000,
    attemptMsMax: 120_000,
    batchSize: 5,
    batchWindowS: 0,
    share: 0.95,
    receivesMax: 200,
    receivesStretchedFrom: 50,
    backoffMsMax: 20_000,
    leaseWaitMsMax: 1_000,
    walksMax: 1,
  },
  bulk: {
    deadlineMsDefault: 24 * 3_600_000,
    deadlineMsMax: 36 * 3_600_000,
    functionTimeoutMs: 900_000,
    attemptMsMax: 300_000,
    batchSize: 10,
    batchWindowS: 1,
    share: 0.9,
    receivesMax: 200,
    receivesStretchedFrom: 50,
    backoffMsMax: 20_000,
    leaseWaitMsMax: 1_000,
    walksMax: 1,
  },
};

/** The claim, the heartbeat and the visibility that go with them. */
export const holdMs = 30_000;
export const heartbeatMs = 10_000;
/** A container writes what its attempts have cost at most so often, and when its invocation ends. */
export const budgetWriteMs = 1_000;
/** A message stays hidden this much longer than its claim holds, so that the claim lapses first. */
export const hideBeyondHoldMs = 5_000;
/** Another worker takes a lapsed claim only this much after its end: clocks differ. */
export const claimGraceMs = 2_000;

/** Leases: a holder stops `leaseMarginMs` before the expiry, a reclaimer waits `leaseGraceMs` after it. */
export const leaseMs = 30_000;
export const leaseMarginMs = 2_000;
export const leaseGraceMs = 3_000;
export const leasesPerPage = 32;

/** The closing bell rings this long before the invocation's end; the handler returns `lastCallMs` before it. */
export const closingBellMs = 5_000;
export const lastCallMs = 1_000;
/** Hooks are waited for when all else is done: so long at most, and never into the last of the invocation. */
export const hooksMsMax = 1_000;
export const hooksEndMs = 250;
/** After the bell every write is tried once, for this long. */
export const lastTryMs = 1_000;

/** Attempts. */
export const attemptMsMin = 100;
/** The longest that a job waits for its prompt to be counted; then the estimate serves. */
export const countMsMax = 2_000;
export const attemptsPerStepMax = 4;
export const throttledAttemptsPerStepMax = 6;
export const attemptsPerLifeMax = 12;
export const bellCutsMax = 3;
export const crashesMax = 5;
export const bugsMax = 3;

/** The longest single sleep inside an invocation. */
export const sleepMsMax = 5_000;
/** A server's Retry-After above this is brought down to it, and no message is hidden longer by one requeue. */
export const pauseMsMax = 900_000;
export const dailyPauseMs = 900_000;

/** Nearer to its deadline than this a job is not handed back any more. */
export const requeueDeadlineLeftMsMin = 10_000;
export const requeueMsBase = 5_000;
/** Of waits whose end nobody knows: later than this a backlog finds its limit idle. */
export const requeueMsMax = 120_000;
/** A wait that many are told at once: the least that each waits for its turn, doubled by every receive. */
export const turnMsBase = 1_000;
export const releasesMax = 20;
export const releaseDeadlineLeftMsMin = 20_000;

/** SQS: a message may stay hidden for 12 hours after a receive, in all; more is refused, not clamped. */
export const sqsHiddenSMax = 43_200;
/** SQS gives no more out of a queue with 120,000 messages in flight, and what is hidden counts: from here on we hide less. */
export const hiddenMessagesMax = 80_000;
export const crowdedDelayMsMax = 30_000;
/** How often a container looks, while it hides messages for longer than that. */
export const crowdLookMs = 60_000;
export const sqsBatchEntriesMax = 10;
export const sqsMessageBytesMax = 1_048_576;
export const sqsRetentionS = 14 * 86_400;

/** Records of one invocation that are at work at the same time. */
export const recordsConcurrencyMax = 10;

/** Storing a reply: what its config says, unless it says otherwise, and how its write is repeated. */
export const replyTtlDaysDefault = 7;
export const replyInlineBytesMax = 32_768;
/** A row of DynamoDB holds 400 KB; what is beside the reply has the rest. */
export const rowReplyBytesMax = 390_000;
export const storeRetryMs = 500;
export const storeMsMax = 5_000;

/** Replies that neither the job table nor the replies queue took: a container keeps this much of them, the oldest go. */
export const keptReplyBytesMax = 8 * 1_048_576;

/** An announcement that failed is the sweeper's to repeat, after this at the earliest. */
export const announceRetryMs = 5 * 60_000;
/** UTF-8 bytes of a reply in an event or a notification: of 256 KiB, what is left beside its source, type or attributes. */
export const announcementBytesMax = 255 * 1_024;
/** What Step Functions takes: UTF-8 bytes of an output and of a failure's cause, characters of its error. */
export const taskOutputBytesMax = 262_144;
export const taskCauseBytesMax = 32_768;
export const taskErrorLengthMax = 256;
/** No invocation lasts longer: a task that need not hear of its job as often hears of each delivery once. */
export const taskBeatMsMax = 900_000;

/** The reply-store, which empties the replies queue; what it cannot store comes again after `replyStoreRetryS`. */
export const replyStoreTimeoutMs = 30_000;
export const replyStoreVisibilityS = (6 * replyStoreTimeoutMs) / 1_000;
export const replyStoreRetryS = 5;
export const replyStoreConcurrencyMax = 5;

/** The worker of the dead letters, which has work when something went wrong for long. */
export const deadLettersTimeoutMs = 60_000;
export const deadLettersVisibilityS = (6 * deadLettersTimeoutMs) / 1_000;
export const deadLettersConcurrencyMax = 2;
/** Nothing is behind them: an envelope of many megabytes must not take others down. */
export const deadLettersBatchSize = 1;

/** The sweeper looks so often; a job is lost once its deadline is this long past, and a failed announcement waits at most so long. */
export const sweepEveryMs = 5 * 60_000;
export const sweepLateMs = 15 * 60_000;
/** Of a job whose last worker never gave it back: its reply may lie in the replies queue. */
export const sweepUnreturnedLateMs = 24 * 3_600_000;
export const sweepPauseMsMax = 6 * 3_600_000;
export const sweeperTimeoutMs = 120_000;

/** The dashboard's widget, for which somebody waits: it reads a few megabytes at most. */
export const widgetTimeoutMs = 20_000;

/** What wakes an operator. A lane's oldest job is older than this. */
export const alarmJobAgeMs: Readonly<Record<Lane, number>> = { rt: 30_000, bg: 15 * 60_000, bulk: 12 * 3_600_000 };
/** Of the jobs of a lane that end within `alarmFailedOverMs`, if these are enough for a part of them to say something. */
export const alarmFailedPercent = 5;
export const alarmFailedJobsMin = 20;
export const alarmFailedOverMs = 15 * 60_000;
/** A target's breaker is met shut in every minute of this. */
export const alarmBreakerShutMs = 5 * 60_000;
export const alarmDurationPercent = 80;
/** Of a lane's budget: a line on the dashboard, no alarm. */
export const budgetNearPercent = 80;
/** Three sweeps. */
export const alarmSweeperSilentMs = 3 * sweepEveryMs;

/** The stack's bucket: what senders put there for the workers, and the workers for them. */
export const paramsPrefix = "params/";
export const outputsPrefix = "outputs/";
/** A message whose worker never starts is dead after 200 receives, 12.5 days, and may be run again while SQS keeps its parked copy. */
export const paramsTtlDays = 29;

/** The queue's own visibility: what AWS asks for, 6 × the function's timeout, plus the batching window. */
export function queueVisibilityS(lane: Lane): number {
  const { functionTimeoutMs, batchWindowS } = laneLimits[lane];
  return (6 * functionTimeoutMs) / 1_000 + batchWindowS;
}

/** More than any request that Bedrock takes: no worker reads an object beyond it, of which its memory would die. */
export const objectBytesMax = 32 * 1_048_576;

/**
 * What the records of one container hold of S3 at once, unless a single object is bigger. Read, parsed, hashed and sent, an
 * object takes some five times its size, and the function has 512 MB (D-87).
 */
export const objectsHeldBytesMax = 48 * 1_048_576;

/** The newest format of a job row that this code writes and reads. */
export const rowFormat = 1;
