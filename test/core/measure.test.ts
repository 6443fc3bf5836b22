import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import { measurements } from "../../lib/core/measure.ts";
import type { Noted } from "../../lib/core/noted.ts";

const tags = { jobId: "j-1", messageId: "m-1", lane: "bg", fence: 2 } as const;
const at = { ...tags, model: "fast", target: "west" };
const usage = { ...noUsage, inputTokens: 12, outputTokens: 3, cacheReadTokens: 4, cacheWriteTokens: 5 };

/** `name{dimensions} value`, as one reads it on a dashboard. */
const read = (event: Noted) =>
  measurements(event).map(({ name, value, dimensions }) => `${name}{${Object.values(dimensions).join(" ")}} ${value}`);

describe("an event adds to the metrics", () => {
  test.each<[says: string, event: Noted, metrics: string[]]>([
    [
      "each delivery tells the job's age",
      { ...tags, kind: "delivered", jobAgeMs: 40, receives: 3 },
      ["JobAgeMs{bg} 40"],
    ],
    ["a claim starts a job", { ...tags, kind: "claimed", queueMs: 50 }, ["JobsStarted{bg} 1", "QueueMs{bg} 50"]],
    ["a duplicate is suppressed", { ...tags, kind: "duplicate", why: "done" }, ["DuplicatesSuppressed{bg} 1"]],
    ["a body without an envelope is refused", { ...tags, kind: "refused", field: "body" }, ["JobsRefused{bg} 1"]],
    [
      "a step is skipped for its reason",
      { ...at, kind: "step-skipped", reason: "paused" },
      ["StepsSkipped{bg fast west paused} 1"],
    ],
    [
      "a lease tells its wait",
      { ...at, kind: "lease-taken", waitMs: 7, atOnce: true },
      ["LeaseWaitMs{bg fast west} 7"],
    ],
    [
      "a refused lease tells why, and its wait",
      { ...at, kind: "lease-refused", reason: "full", waitMs: 8 },
      ["LeasesRefused{bg fast west full} 1", "LeaseWaitMs{bg fast west} 8"],
    ],
    ["a reply goes by the replies queue", { ...tags, kind: "reply-via-outbox" }, ["RepliesViaOutbox{bg} 1"]],
    ["a breaker opens", { ...at, kind: "breaker-opened", untilMs: 9 }, ["BreakerOpened{bg fast west} 1"]],
    ["is probed", { ...at, kind: "breaker-probe" }, ["BreakerProbes{bg fast west} 1"]],
    ["and closes", { ...at, kind: "breaker-closed" }, ["BreakerClosed{bg fast west} 1"]],
    [
      "an answer tells its time, its tokens and its price",
      { ...at, kind: "attempted", outcome: "answered", name: "end_turn", tookMs: 900, usage, costUsd: 0.25 },
      [
        "Attempts{bg fast west answered} 1",
        "ProviderMs{bg fast west} 900",
        "InputTokens{bg fast west} 12",
        "OutputTokens{bg fast west} 3",
        "CacheTokens{bg fast west} 9",
        "CostUsd{bg fast west} 0.25",
      ],
    ],
    [
      "a throttle is counted by itself too",
      { ...at, kind: "attempted", outcome: "throttled", name: "ThrottlingException", tookMs: 5, usage: noUsage },
      ["Attempts{bg fast west throttled} 1", "ProviderMs{bg fast west} 5", "Throttles{bg fast west} 1"],
    ],
    [
      "what may be billed for nothing is counted",
      {
        ...at,
        kind: "attempted",
        outcome: "cut",
        name: "bell",
        tookMs: 5,
        usage: { ...noUsage, possiblyBilledTokens: 6 },
      },
      ["Attempts{bg fast west cut} 1", "ProviderMs{bg fast west} 5", "PossiblyWastedTokens{bg fast west} 6"],
    ],
    [
      "a requeue has its cause",
      { ...tags, kind: "requeued", cause: "capacity", delayS: 5 },
      ["Requeues{bg capacity} 1"],
    ],
    [
      "an unknown model is released",
      { ...tags, kind: "unknown-model", name: "novel", releases: 1, delayS: 10 },
      ["UnknownModelReleases{bg} 1"],
    ],
    [
      "a failed job has its code",
      {
        ...tags,
        kind: "replied",
        status: "failed",
        code: "no_capacity",
        totalMs: 9,
        sleptMs: 1,
        leaseWaitMs: 0,
        fallbackUsed: false,
      },
      ["JobsFailed{bg no_capacity} 1", "TotalMs{bg} 9", "SleptMs{bg} 1"],
    ],
    [
      "an answer by another step counts as fallback",
      { ...tags, kind: "replied", status: "succeeded", totalMs: 9, sleptMs: 0, leaseWaitMs: 0, fallbackUsed: true },
      ["JobsSucceeded{bg} 1", "TotalMs{bg} 9", "SleptMs{bg} 0", "FallbackUsed{bg} 1"],
    ],
    [
      "a job that fails without a code has none to show",
      { ...tags, kind: "replied", status: "failed", totalMs: 9, sleptMs: 0, leaseWaitMs: 0, fallbackUsed: false },
      ["JobsFailed{bg} 1", "TotalMs{bg} 9", "SleptMs{bg} 0"],
    ],
    [
      "a job that came too late shows none, for there is but one",
      {
        ...tags,
        kind: "replied",
        status: "expired",
        code: "deadline_exceeded",
        totalMs: 9,
        sleptMs: 0,
        leaseWaitMs: 0,
        fallbackUsed: false,
      },
      ["JobsExpired{bg} 1", "TotalMs{bg} 9", "SleptMs{bg} 0"],
    ],
    [
      "nor does one that was cancelled",
      { ...tags, kind: "replied", status: "cancelled", totalMs: 9, sleptMs: 0, leaseWaitMs: 0, fallbackUsed: false },
      ["JobsCancelled{bg} 1", "TotalMs{bg} 9", "SleptMs{bg} 0"],
    ],
    [
      "a reply that could not be stored",
      { ...tags, kind: "reply-store-failed", error: "X" },
      ["ReplyStoreFailures{bg} 1"],
    ],
    [
      "reclaimed leases are counted each",
      { ...at, kind: "lease-reclaimed", count: 3 },
      ["LeasesReclaimed{bg fast west} 3"],
    ],
    ["a limit is cut", { ...at, kind: "limit-cut", from: 20, to: 18 }, ["LimitCuts{bg fast west} 1"]],
    ["and raised", { ...at, kind: "limit-raised", from: 18, to: 19 }, ["LimitRaises{bg fast west} 1"]],
    ["what has no model is shown without one", { lane: "bg", kind: "lease-lost" }, ["LeasesLost{bg} 1"]],
    ["a lost lease is counted", { ...at, kind: "lease-lost" }, ["LeasesLost{bg fast west} 1"]],
    [
      "an invocation tells what it billed for waiting",
      { lane: "bg", kind: "invoked", records: 5, billedWaitMs: 11, overheadMs: 12 },
      ["BilledWaitMs{bg} 11", "OverheadMs{bg} 12"],
    ],
    ["a transition is a line in the log alone", { ...tags, kind: "stage", stage: "waiting" }, []],
  ])("%s", (_says, event, metrics) => expect(read(event)).toEqual(metrics));
});
