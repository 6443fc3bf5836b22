import { describe, expect, test } from "vitest";
import * as limits from "../../lib/core/limits.ts";

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
  ])("%s", (_says, number, promised) => expect(number).toBe(promised));
});
