import { describe, expect, test } from "vitest";
import { lanes } from "../../lib/core/lane.ts";
import * as limits from "../../lib/core/limits.ts";
import type { LaneLimits } from "../../lib/core/limits.ts";

/** What senders, operators and the README may rely on; the lanes' numbers are held against the README's table. */
describe("the contract's numbers", () => {
  test.each([
    ["a claim holds for 30 s", limits.holdMs, 30_000],
    ["and is extended every 10 s", limits.heartbeatMs, 10_000],
    ["its message is hidden 5 s longer", limits.hideBeyondHoldMs, 5_000],
    ["another takes it 2 s after its end", limits.claimGraceMs, 2_000],
    ["a lease lasts 30 s", limits.leaseMs, 30_000],
    ["its holder stops 2 s before its end", limits.leaseMarginMs, 2_000],
    ["others wait until 3 s after it", limits.leaseGraceMs, 3_000],
    ["the bell rings 5 s before the invocation's end", limits.closingBellMs, 5_000],
    ["the handler returns 1 s before it", limits.lastCallMs, 1_000],
    ["what is tried once more is tried for 1 s", limits.lastTryMs, 1_000],
    ["an attempt has 100 ms at least", limits.attemptMsMin, 100],
    ["a step is asked 4 times in a delivery", limits.attemptsPerStepMax, 4],
    ["or 6 times when it throttles", limits.throttledAttemptsPerStepMax, 6],
    ["a job is asked 12 times in its life", limits.attemptsPerLifeMax, 12],
    ["and cut by the bell 3 times", limits.bellCutsMax, 3],
    ["5 crashes end it", limits.crashesMax, 5],
    ["so does the third bug of ours", limits.bugsMax, 3],
    ["nobody sleeps longer than 5 s", limits.sleepMsMax, 5_000],
    ["or is paused longer than 15 min", limits.pauseMsMax, 900_000],
    ["as the end of a day's quota pauses", limits.dailyPauseMs, 900_000],
    ["a requeue of unknown length begins with 5 s", limits.requeueMsBase, 5_000],
    ["with 10 s left nothing is requeued", limits.requeueDeadlineLeftMsMin, 10_000],
    ["an unknown model is released 20 times", limits.releasesMax, 20],
    ["and with 20 s left no more", limits.releaseDeadlineLeftMsMin, 20_000],
    ["a reply's write is tried every 0.5 s", limits.storeRetryMs, 500],
    ["for 5 s", limits.storeMsMax, 5_000],
    ["an output of 32 KB stays in the row", limits.replyInlineBytesMax, 32_768],
    ["SQS hides for 12 h", limits.sqsHiddenSMax, 43_200],
    ["takes ten at a time", limits.sqsBatchEntriesMax, 10],
    ["and 1 MiB", limits.sqsMessageBytesMax, 1_048_576],
    ["and keeps messages for 14 days", limits.sqsRetentionS, 1_209_600],
    ["32 leases lie on a page", limits.leasesPerPage, 32],
    ["a prompt is counted within 2 s", limits.countMsMax, 2_000],
    ["a requeue of unknown length waits 2 min at most", limits.requeueMsMax, 120_000],
    ["and a turn 1 s at least", limits.turnMsBase, 1_000],
    ["80,000 hidden messages are a crowd", limits.hiddenMessagesMax, 80_000],
    ["in which nobody is hidden longer than 30 s", limits.crowdedDelayMsMax, 30_000],
    ["and which is looked at once a minute", limits.crowdLookMs, 60_000],
    ["ten records of an invocation are at work at once", limits.recordsConcurrencyMax, 10],
    ["a reply is kept for a week", limits.replyTtlDaysDefault, 7],
    ["a container keeps 8 MiB of replies that nobody took", limits.keptReplyBytesMax, 8_388_608],
    ["a failed announcement is repeated after 5 min", limits.announceRetryMs, 300_000],
    ["the reply-store has 30 s", limits.replyStoreTimeoutMs, 30_000],
    ["and a visibility of six times that", limits.replyStoreVisibilityS, 180],
    ["it tries again after 5 s", limits.replyStoreRetryS, 5],
    ["in five invocations at once", limits.replyStoreConcurrencyMax, 5],
    ["the dead letters' worker has a minute", limits.deadLettersTimeoutMs, 60_000],
    ["and a visibility of six times that too", limits.deadLettersVisibilityS, 360],
    ["in two invocations at once", limits.deadLettersConcurrencyMax, 2],
    ["the sweeper looks every 5 min", limits.sweepEveryMs, 300_000],
    ["for jobs that are 15 min late", limits.sweepLateMs, 900_000],
    ["and waits 6 h at most with an announcement", limits.sweepPauseMsMax, 21_600_000],
    ["it has 2 min", limits.sweeperTimeoutMs, 120_000],
    ["params are kept for 29 days", limits.paramsTtlDays, 29],
    ["no object beyond 32 MiB is read", limits.objectBytesMax, 33_554_432],
    ["rows are of format 1", limits.rowFormat, 1],
  ])("%s", (_says, number, promised) => expect(number).toBe(promised));
});

/** Also held against the README's table; here they stand as numbers. */
describe("the lanes' numbers, of rt, bg and bulk", () => {
  test.each<[says: string, field: keyof LaneLimits, rt: number, bg: number, bulk: number]>([
    ["a deadline of its own", "deadlineMsDefault", 60_000, 3_600_000, 86_400_000],
    ["and the latest", "deadlineMsMax", 300_000, 43_200_000, 129_600_000],
    ["the function's timeout", "functionTimeoutMs", 90_000, 300_000, 900_000],
    ["the longest attempt", "attemptMsMax", 45_000, 120_000, 300_000],
    ["records of a batch", "batchSize", 1, 5, 10],
    ["and the wait for them", "batchWindowS", 0, 0, 1],
    ["the share of a limit", "share", 1, 0.95, 0.9],
    ["receives before the dead letters", "receivesMax", 50, 200, 200],
    ["and from which on they are spared", "receivesStretchedFrom", 25, 50, 50],
    ["the longest backoff of a delivery", "backoffMsMax", 10_000, 20_000, 20_000],
    ["the longest wait for a lease", "leaseWaitMsMax", 2_000, 1_000, 1_000],
    ["walks of the chain", "walksMax", 3, 1, 1],
  ])("%s", (_says, field, ...numbers) => expect(lanes.map((lane) => limits.laneLimits[lane][field])).toEqual(numbers));

  test("a queue hides for six timeouts and its window", () =>
    expect(lanes.map(limits.queueVisibilityS)).toEqual([540, 1_800, 5_401]));
});

test("what senders and workers leave for each other lies under prefixes", () =>
  expect([limits.paramsPrefix, limits.outputsPrefix]).toEqual(["params/", "outputs/"]));
