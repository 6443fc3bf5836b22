import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import { measurements } from "../../lib/core/measure.ts";
import { metrics, namespace } from "../../lib/core/metrics.ts";
import type { Noted } from "../../lib/core/noted.ts";

const tags = { jobId: "j-1", messageId: "m-1", lane: "bg", fence: 2 } as const;
const at = { ...tags, model: "fast", target: "west" };
const usage = { ...noUsage, inputTokens: 12, outputTokens: 3, cacheReadTokens: 4, cacheWriteTokens: 5 };

/** `name{dimensions} value`, as one reads it on a dashboard. */
const read = (event: Noted) =>
  measurements(event).map(({ name, value, dimensions }) => `${name}{${Object.values(dimensions).join(" ")}} ${value}`);

const rows: [says: string, event: Noted, metrics: string[]][] = [
  ["each delivery tells the job's age", { ...tags, kind: "delivered", jobAgeMs: 40, receives: 3 }, ["JobAgeMs{bg} 40"]],
  ["a claim starts a job", { ...tags, kind: "claimed", queueMs: 50 }, ["JobsStarted{bg} 1", "QueueMs{bg} 50"]],
  ["a duplicate is suppressed", { ...tags, kind: "duplicate", why: "done" }, ["DuplicatesSuppressed{bg} 1"]],
  ["a body without an envelope is refused", { ...tags, kind: "refused", field: "body" }, ["JobsRefused{bg} 1"]],
  [
    "a step is skipped for its reason",
    { ...at, kind: "step-skipped", reason: "paused" },
    ["StepsSkipped{bg fast west paused} 1"],
  ],
  [
    "a lease tells its wait, and how full its target is",
    { ...at, kind: "lease-taken", waitMs: 7, atOnce: true, inUse: 12, limit: 20 },
    [
      "LeasesTakenAtOnce{fast west} 1",
      "LeaseWaitMs{bg} 7",
      "LeaseWaitMs{fast west} 7",
      "LeasesInUse{fast west} 12",
      "LeaseLimit{fast west} 20",
    ],
  ],
  [
    "and whether it was waited for",
    { ...at, kind: "lease-taken", waitMs: 7, atOnce: false, inUse: 12, limit: 20 },
    [
      "LeasesWaited{fast west} 1",
      "LeaseWaitMs{bg} 7",
      "LeaseWaitMs{fast west} 7",
      "LeasesInUse{fast west} 12",
      "LeaseLimit{fast west} 20",
    ],
  ],
  [
    "one that comes back, how long it was held",
    { ...at, kind: "lease-returned", heldMs: 900 },
    ["LeasesHeld{fast west} 1", "LeaseHeldMs{fast west} 900"],
  ],
  [
    "a refused lease tells why, and its wait",
    { ...at, kind: "lease-refused", reason: "full", waitMs: 8 },
    ["LeasesRefused{bg fast west full} 1", "LeaseWaitMs{bg} 8", "LeaseWaitMs{fast west} 8"],
  ],
  [
    "a breaker that is met open is a step skipped",
    { ...at, kind: "step-skipped", reason: "breaker-open" },
    ["StepsSkipped{bg fast west breaker-open} 1", "BreakerShut{fast west} 1"],
  ],
  [
    "a parked message has its reason",
    { ...tags, kind: "parked", reason: "not_an_envelope" },
    ["JobsParked{bg not_an_envelope} 1"],
  ],
  [
    "of the replies queue no lane is known",
    { messageId: "m-1", kind: "parked", reason: "not_a_reply" },
    ["JobsParked{none not_a_reply} 1"],
  ],
  [
    "an announcement fails",
    { ...tags, kind: "announcement-failed", by: "sqs", error: "X" },
    ["AnnouncementsFailed{bg} 1"],
  ],
  [
    "a bug is counted, and what failed below is not",
    { ...tags, kind: "trouble", what: "run", error: "TypeError", unexpected: true },
    ["UnexpectedErrors{bg} 1"],
  ],
  ["a trouble below is a line of the log", { ...tags, kind: "trouble", what: "run", error: "TimeoutError" }, []],
  [
    "a sweep tells what was due and what was lost",
    { kind: "swept", due: 9, ended: 2 },
    ["RowsSwept{} 9", "JobsSwept{} 2"],
  ],
  [
    "DynamoDB's refusals are counted, wherever they come up",
    { ...at, kind: "lease-refused", reason: "infra", waitMs: 8, error: "ProvisionedThroughputExceededException" },
    ["LeasesRefused{bg fast west infra} 1", "LeaseWaitMs{bg} 8", "LeaseWaitMs{fast west} 8", "DynamoThrottled{} 1"],
  ],
  [
    "those of the account's limit too",
    { kind: "lease-return-failed", error: "RequestLimitExceeded" },
    ["DynamoThrottled{} 1"],
  ],
  [
    "and what an on-demand table cannot take yet",
    { kind: "trouble", what: "process a record", error: "DynamoDBThrottlingException" },
    ["DynamoThrottled{} 1"],
  ],
  [
    "other trouble, a model's own refusal too, is a line in the log",
    { ...tags, kind: "trouble", what: "count tokens", error: "ThrottlingException" },
    [],
  ],
  ["a reply goes by the replies queue", { ...tags, kind: "reply-via-outbox" }, ["RepliesViaOutbox{bg} 1"]],
  [
    "a breaker opens",
    { ...at, kind: "breaker-opened", untilMs: 9 },
    ["BreakerOpened{fast west} 1", "BreakerShut{fast west} 1"],
  ],
  ["is probed", { ...at, kind: "breaker-probe" }, ["BreakerProbes{fast west} 1", "BreakerShut{fast west} 1"]],
  ["and closes", { ...at, kind: "breaker-closed" }, ["BreakerClosed{fast west} 1"]],
  [
    "an answer tells its time, its tokens and its price",
    { ...at, kind: "attempted", outcome: "answered", name: "end_turn", tookMs: 900, usage, costUsd: 0.25 },
    [
      "Attempts{bg fast west answered} 1",
      "ProviderMs{bg} 900",
      "ProviderMs{fast west} 900",
      "InputTokens{bg fast west} 12",
      "OutputTokens{bg fast west} 3",
      "CacheTokens{bg fast west} 9",
      "CostUsd{bg fast west} 0.25",
    ],
  ],
  [
    "what a lane has spent is told beside its part of the budget",
    { lane: "bulk", kind: "spent", spentUsd: 40, budgetUsd: 50, usedPercent: 80 },
    ["BudgetSpentUsd{bulk} 40", "BudgetUsedPercent{bulk} 80"],
  ],
  [
    "a throttle is counted by itself too",
    { ...at, kind: "attempted", outcome: "throttled", name: "ThrottlingException", tookMs: 5, usage: noUsage },
    ["Attempts{bg fast west throttled} 1", "ProviderMs{bg} 5", "ProviderMs{fast west} 5", "Throttles{bg fast west} 1"],
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
    [
      "Attempts{bg fast west cut} 1",
      "ProviderMs{bg} 5",
      "ProviderMs{fast west} 5",
      "PossiblyWastedTokens{bg fast west} 6",
    ],
  ],
  ["a requeue has its cause", { ...tags, kind: "requeued", cause: "capacity", delayS: 5 }, ["Requeues{bg capacity} 1"]],
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
    ["JobsFailed{bg} 1", "JobsFailed{bg no_capacity} 1", "TotalMs{bg} 9", "SleptMs{bg} 1"],
  ],
  [
    "an answer by another step counts as fallback",
    { ...tags, kind: "replied", status: "succeeded", totalMs: 9, sleptMs: 0, leaseWaitMs: 0, fallbackUsed: true },
    ["JobsSucceeded{bg} 1", "TotalMs{bg} 9", "SleptMs{bg} 0", "FallbackUsed{bg} 1"],
  ],
  [
    "a job that fails without a code is counted all the same",
    { ...tags, kind: "replied", status: "failed", totalMs: 9, sleptMs: 0, leaseWaitMs: 0, fallbackUsed: false },
    ["JobsFailed{bg} 1", "JobsFailed{bg none} 1", "TotalMs{bg} 9", "SleptMs{bg} 0"],
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
  ["reclaimed leases are counted each", { ...at, kind: "lease-reclaimed", count: 3 }, ["LeasesReclaimed{fast west} 3"]],
  ["a limit is cut", { ...at, kind: "limit-cut", from: 20, to: 18 }, ["LimitCuts{fast west} 1"]],
  ["and raised", { ...at, kind: "limit-raised", from: 18, to: 19 }, ["LimitRaises{fast west} 1"]],
  [
    "a limit over several targets has no target, and is one metric with the others",
    { model: "group:nova", kind: "lease-reclaimed", count: 1 },
    ["LeasesReclaimed{group:nova none} 1"],
  ],
  ["a lost lease is counted", { ...at, kind: "lease-lost" }, ["LeasesLost{fast west} 1"]],
  [
    "an invocation tells what it billed for waiting",
    { lane: "bg", kind: "invoked", records: 5, billedWaitMs: 11, overheadMs: 12 },
    ["BilledWaitMs{bg} 11", "OverheadMs{bg} 12"],
  ],
  ["a transition is a line in the log alone", { ...tags, kind: "stage", stage: "waiting" }, []],
];

describe("an event adds to the metrics", () => {
  test.each(rows)("%s", (_says, event, added) => expect(read(event)).toEqual(added));
});

describe("the list of metrics", () => {
  const emitted = () => rows.flatMap(([, event]) => measurements(event));

  test("has no name that no event emits", () => {
    const names = new Set<string>(emitted().map(({ name }) => name));
    expect(Object.keys(metrics).filter((name) => !names.has(name))).toEqual([]);
  });

  test("has every set of dimensions, and never a job", () => {
    for (const { name, dimensions } of emitted()) {
      expect(metrics[name].by.map((set) => set.join(" "))).toContain(Object.keys(dimensions).join(" "));
      expect(Object.keys(dimensions)).not.toContain("jobId");
    }
  });

  test("is kept under the service's name", () => expect(namespace).toBe("Sluice"));

  test("has the unit that the name says", () => {
    const units = { Ms: "ms", Usd: "usd", Percent: "percent" };
    for (const [name, { unit }] of Object.entries(metrics))
      expect(unit).toBe(Object.entries(units).find(([end]) => name.endsWith(end))?.[1] ?? "count");
  });
});
