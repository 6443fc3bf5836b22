import type { Noted, Tags } from "./noted.ts";

/** One value of one metric. Dimensions are lane, model and target, with one more where a metric is split; never a jobId. */
export interface Measurement {
  readonly name: string;
  readonly unit: "count" | "ms" | "usd";
  readonly value: number;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** What an event adds to the metrics; one that adds nothing is only a log line. */
export function measurements(event: Noted): readonly Measurement[] {
  const by = laneOf(event);
  const at = { ...by, ...targetOf(event) };
  switch (event.kind) {
    case "delivered":
      return [ms("JobAgeMs", event.jobAgeMs, by)];
    case "claimed":
      return [count("JobsStarted", by), ms("QueueMs", event.queueMs, by)];
    case "duplicate":
      return [count("DuplicatesSuppressed", by)];
    case "refused":
      return [count("JobsRefused", by)];
    case "step-skipped":
      return [count("StepsSkipped", { ...at, reason: event.reason })];
    case "lease-taken":
      return [ms("LeaseWaitMs", event.waitMs, at)];
    case "lease-refused":
      return [count("LeasesRefused", { ...at, reason: event.reason }), ms("LeaseWaitMs", event.waitMs, at)];
    case "lease-reclaimed":
      return [count("LeasesReclaimed", at, event.count)];
    case "lease-lost":
      return [count("LeasesLost", at)];
    case "limit-cut":
      return [count("LimitCuts", at)];
    case "limit-raised":
      return [count("LimitRaises", at)];
    case "breaker-opened":
      return [count("BreakerOpened", at)];
    case "breaker-probe":
      return [count("BreakerProbes", at)];
    case "breaker-closed":
      return [count("BreakerClosed", at)];
    case "attempted": {
      const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, possiblyBilledTokens } = event.usage;
      return [
        count("Attempts", { ...at, outcome: event.outcome }),
        ms("ProviderMs", event.tookMs, at),
        ...(event.outcome === "throttled" ? [count("Throttles", at)] : []),
        ...some("InputTokens", inputTokens, at),
        ...some("OutputTokens", outputTokens, at),
        ...some("CacheTokens", cacheReadTokens + cacheWriteTokens, at),
        ...some("PossiblyWastedTokens", possiblyBilledTokens, at),
        ...(event.costUsd === undefined
          ? []
          : [{ name: "CostUsd", unit: "usd", value: event.costUsd, dimensions: at } as const]),
      ];
    }
    case "requeued":
      return [count("Requeues", { ...by, cause: event.cause })];
    case "unknown-model":
      return [count("UnknownModelReleases", by)];
    case "replied":
      return [
        count(
          endedAs[event.status],
          event.code === undefined || event.status !== "failed" ? by : { ...by, code: event.code },
        ),
        ms("TotalMs", event.totalMs, by),
        ms("SleptMs", event.sleptMs, by),
        ...(event.fallbackUsed ? [count("FallbackUsed", by)] : []),
      ];
    case "reply-store-failed":
      return [count("ReplyStoreFailures", by)];
    case "reply-via-outbox":
      return [count("RepliesViaOutbox", by)];
    case "invoked":
      return [ms("BilledWaitMs", event.billedWaitMs, by), ms("OverheadMs", event.overheadMs, by)];
    case "parked":
    case "hidden":
    case "crowded":
    case "fallback":
    case "payload":
    case "stage":
    case "lease-return-failed":
    case "reply-kept":
    case "announced":
    case "announcement-failed":
    case "announcement-given-up":
    case "swept":
    case "reply-dropped":
    case "claim-lost":
    case "bell":
    case "trouble":
      return [];
  }
}

const endedAs = {
  succeeded: "JobsSucceeded",
  failed: "JobsFailed",
  expired: "JobsExpired",
  cancelled: "JobsCancelled",
} as const;

function count(name: string, dimensions: Measurement["dimensions"], value = 1): Measurement {
  return { name, unit: "count", value, dimensions };
}

function ms(name: string, value: number, dimensions: Measurement["dimensions"]): Measurement {
  return { name, unit: "ms", value, dimensions };
}

function some(name: string, value: number, dimensions: Measurement["dimensions"]): readonly Measurement[] {
  return value === 0 ? [] : [count(name, dimensions, value)];
}

function laneOf({ lane }: Tags): Measurement["dimensions"] {
  return lane === undefined ? {} : { lane };
}

function targetOf({ model, target }: Tags): Measurement["dimensions"] {
  return { ...(model === undefined ? {} : { model }), ...(target === undefined ? {} : { target }) };
}
