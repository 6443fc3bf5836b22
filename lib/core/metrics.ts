/** What a metric may be split by. Never a jobId: each new value is a metric that is paid for. */
export type Dimension = "lane" | "model" | "target" | "outcome" | "reason" | "cause" | "code";

export interface MetricFacts {
  readonly unit: "count" | "ms" | "usd" | "percent";
  /** Each value is emitted once for every set. */
  readonly by: readonly (readonly Dimension[])[];
}

const byLane = ["lane"] as const;
const byTarget = ["model", "target"] as const;
const byBoth = ["lane", "model", "target"] as const;

const count = (...by: MetricFacts["by"]): MetricFacts => ({ unit: "count", by });
const ms = (...by: MetricFacts["by"]): MetricFacts => ({ unit: "ms", by });

export const namespace = "Sluice";

/**
 * Every metric there is, once: `measure.ts` emits these, and the stack shows and watches no others. Counts can be added up
 * afterwards, whatever they were split by; percentiles cannot, so what is read as one has the sets that it is read by.
 */
export const metrics = {
  JobAgeMs: ms(byLane),
  JobsStarted: count(byLane),
  QueueMs: ms(byLane),
  DuplicatesSuppressed: count(byLane),
  JobsRefused: count(byLane),
  JobsParked: count(["lane", "reason"]),
  Requeues: count(["lane", "cause"]),
  UnknownModelReleases: count(byLane),

  LeasesTakenAtOnce: count(byTarget),
  LeasesWaited: count(byTarget),
  LeaseWaitMs: ms(byLane, byTarget),
  LeasesRefused: count([...byBoth, "reason"]),
  LeasesHeld: count(byTarget),
  LeaseHeldMs: ms(byTarget),
  LeasesInUse: count(byTarget),
  LeaseLimit: count(byTarget),
  LeasesReclaimed: count(byTarget),
  LeasesLost: count(byTarget),
  LimitCuts: count(byTarget),
  LimitRaises: count(byTarget),

  Attempts: count([...byBoth, "outcome"]),
  ProviderMs: ms(byLane, byTarget),
  Throttles: count(byBoth),
  StepsSkipped: count([...byBoth, "reason"]),
  FallbackUsed: count(byLane),
  BreakerOpened: count(byTarget),
  BreakerProbes: count(byTarget),
  BreakerClosed: count(byTarget),
  /** Each time that somebody met a breaker which was not closed: while it is open and there is work, every minute has one. */
  BreakerShut: count(byTarget),

  JobsSucceeded: count(byLane),
  JobsFailed: count(byLane, ["lane", "code"]),
  JobsExpired: count(byLane),
  JobsCancelled: count(byLane),
  TotalMs: ms(byLane),
  ReplyStoreFailures: count(byLane),
  RepliesViaOutbox: count(byLane),
  AnnouncementsFailed: count(byLane),

  InputTokens: count(byBoth),
  OutputTokens: count(byBoth),
  CacheTokens: count(byBoth),
  PossiblyWastedTokens: count(byBoth),
  CostUsd: { unit: "usd", by: [byBoth] },
  /** Of the day so far, told whenever it grows; only of lanes with a budget. */
  BudgetSpentUsd: { unit: "usd", by: [byLane] },
  BudgetUsedPercent: { unit: "percent", by: [byLane] },
  SleptMs: ms(byLane),
  BilledWaitMs: ms(byLane),
  OverheadMs: ms(byLane),

  /** A record came to grief by a bug, and comes again. */
  UnexpectedErrors: count(byLane),
  /** Rows that the sweeper has looked at, and jobs that it ended since their messages were lost. */
  RowsSwept: count([]),
  JobsSwept: count([]),
  DynamoThrottled: count([]),
} as const satisfies Readonly<Record<string, MetricFacts>>;

export type MetricName = keyof typeof metrics;
