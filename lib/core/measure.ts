import { metrics } from "./metrics.ts";
import type { Dimension, MetricFacts, MetricName } from "./metrics.ts";
import type { Noted } from "./noted.ts";

/** One value of one metric, under one set of its dimensions. */
export interface Measurement {
  readonly name: MetricName;
  readonly unit: MetricFacts["unit"];
  readonly value: number;
  readonly dimensions: Readonly<Partial<Record<Dimension, string>>>;
}

type Facts = Readonly<Partial<Record<Dimension, string>>>;
type Value = readonly [name: MetricName, value: number, facts?: Facts];

/** What an event adds to the metrics; one that adds nothing is only a log line. */
export function measurements(event: Noted): readonly Measurement[] {
  const { lane, model, target } = event;
  return [...valuesOf(event), ...throttledByDynamo(event)].flatMap(([name, value, facts]) => {
    const { unit, by }: MetricFacts = metrics[name];
    const known: Readonly<Record<string, string | undefined>> = { lane, model, target, ...facts };
    // A metric without one of its dimensions would be another metric, which nobody looks at.
    const under = (set: readonly Dimension[]) => Object.fromEntries(set.map((each) => [each, known[each] ?? "none"]));
    return by.map((set) => ({ name, unit, value, dimensions: under(set) }));
  });
}

function valuesOf(event: Noted): readonly Value[] {
  switch (event.kind) {
    case "delivered":
      return [["JobAgeMs", event.jobAgeMs]];
    case "claimed":
      return [one("JobsStarted"), ["QueueMs", event.queueMs]];
    case "duplicate":
      return [one("DuplicatesSuppressed")];
    case "refused":
      return [one("JobsRefused")];
    case "parked":
      return [one("JobsParked", { reason: event.reason })];
    case "step-skipped":
      return [
        one("StepsSkipped", { reason: event.reason }),
        ...(event.reason === "breaker-open" ? [one("BreakerShut")] : []),
      ];
    case "lease-taken":
      return [
        one(event.atOnce ? "LeasesTakenAtOnce" : "LeasesWaited"),
        ["LeaseWaitMs", event.waitMs],
        ["LeasesInUse", event.inUse],
        ["LeaseLimit", event.limit],
      ];
    case "lease-refused":
      return [one("LeasesRefused", { reason: event.reason }), ["LeaseWaitMs", event.waitMs]];
    case "lease-returned":
      return [one("LeasesHeld"), ["LeaseHeldMs", event.heldMs]];
    case "lease-reclaimed":
      return [["LeasesReclaimed", event.count]];
    case "lease-lost":
      return [one("LeasesLost")];
    case "limit-cut":
      return [one("LimitCuts")];
    case "limit-raised":
      return [one("LimitRaises")];
    case "breaker-opened":
      return [one("BreakerOpened"), one("BreakerShut")];
    case "breaker-probe":
      return [one("BreakerProbes"), one("BreakerShut")];
    case "breaker-closed":
      return [one("BreakerClosed")];
    case "attempted":
      return attempted(event);
    case "spent":
      return [
        ["BudgetSpentUsd", event.spentUsd],
        ["BudgetUsedPercent", event.usedPercent],
      ];
    case "requeued":
      return [one("Requeues", { cause: event.cause })];
    case "unknown-model":
      return [one("UnknownModelReleases")];
    case "replied":
      return [
        one(endedAs[event.status], event.code === undefined ? {} : { code: event.code }),
        ["TotalMs", event.totalMs],
        ["SleptMs", event.sleptMs],
        ...(event.fallbackUsed ? [one("FallbackUsed")] : []),
      ];
    case "reply-store-failed":
      return [one("ReplyStoreFailures")];
    case "reply-via-outbox":
      return [one("RepliesViaOutbox")];
    case "announcement-failed":
      return [one("AnnouncementsFailed")];
    case "swept":
      return [
        ["RowsSwept", event.due],
        ["JobsSwept", event.ended],
      ];
    case "invoked":
      return [
        ["BilledWaitMs", event.billedWaitMs],
        ["OverheadMs", event.overheadMs],
      ];
    case "trouble":
      return event.unexpected === true ? [one("UnexpectedErrors")] : [];
    case "hidden":
    case "crowded":
    case "fallback":
    case "payload":
    case "stage":
    case "lease-return-failed":
    case "reply-kept":
    case "announced":
    case "announcement-given-up":
    case "task-gone":
    case "reply-dropped":
    case "claim-lost":
    case "bell":
      return [];
  }
}

function attempted({ outcome, tookMs, usage, costUsd }: Extract<Noted, { kind: "attempted" }>): readonly Value[] {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, possiblyBilledTokens } = usage;
  return [
    one("Attempts", { outcome }),
    ["ProviderMs", tookMs],
    ...(outcome === "throttled" ? [one("Throttles")] : []),
    ...some("InputTokens", inputTokens),
    ...some("OutputTokens", outputTokens),
    ...some("CacheTokens", cacheReadTokens + cacheWriteTokens),
    ...some("PossiblyWastedTokens", possiblyBilledTokens),
    ...(costUsd === undefined ? [] : [["CostUsd", costUsd] as const]),
  ];
}

const endedAs = {
  succeeded: "JobsSucceeded",
  failed: "JobsFailed",
  expired: "JobsExpired",
  cancelled: "JobsCancelled",
} as const;

/** What an on-demand table's ThrottlingException is called here: Bedrock's has the same name. */
export const dynamoThrottling = "DynamoDBThrottlingException";

/** DynamoDB's alone: no other service that a worker asks refuses by these. */
const dynamoThrottles = new Set<string | undefined>([
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  dynamoThrottling,
]);

/** What is left when the SDK has tried often enough; the tables' own metrics have the rest. */
function throttledByDynamo(event: Noted): readonly Value[] {
  return "error" in event && dynamoThrottles.has(event.error) ? [one("DynamoThrottled")] : [];
}

function one(name: MetricName, facts?: Facts): Value {
  return facts === undefined ? [name, 1] : [name, 1, facts];
}

function some(name: MetricName, value: number): readonly Value[] {
  return value === 0 ? [] : [[name, value]];
}
