import { describe, expect, test } from "vitest";

import { explain } from "../../lib/cli/explain.ts";
import { countText, whyText } from "../../lib/cli/jobs.ts";
import { progressText } from "../../lib/cli/submit-summary.ts";
import { Sums } from "../../lib/cli/sums.ts";
import { timelineOf } from "../../lib/cli/timeline.ts";
import type { JobRow } from "../../lib/core/claim.ts";
import { foreverMs } from "../../lib/core/override.ts";
import { noMeta, replyOf } from "../../lib/core/reply.ts";
import { a } from "../a.ts";

function failing(name: string, message = "", facts: object = {}): Error {
  return Object.assign(new Error(message), { name, ...facts });
}

describe("what went wrong is told with what to do", () => {
  test.each<[error: Error, what: RegExp, remedy: RegExp]>([
    [failing("CredentialsProviderError"), /no AWS credentials/, /AWS_PROFILE/],
    [failing("ExpiredTokenException"), /have expired/, /log in again/],
    [failing("UnrecognizedClientException"), /does not know/, /AWS_PROFILE/],
    [failing("InvalidSignatureException", "Signature not yet current"), /clock is wrong/, /set the clock/],
    [failing("RequestTimeTooSkewed"), /clock is wrong/, /set the clock/],
    [failing("AccessDeniedException", "not authorized to perform: dynamodb:Scan"), /not allowed: .*Scan/, /granted/],
    [failing("Error", "Region is missing"), /no region/, /--region/],
    [failing("AWS.SimpleQueueService.NonExistentQueue"), /a queue .* is not there/, /doctor/],
    [failing("ResourceNotFoundException"), /a table or bucket .* is not there/, /doctor/],
    [failing("Error", "", { code: "ECONNREFUSED" }), /nobody answers/, /--endpoint/],
    [failing("AggregateError", "connect ECONNREFUSED 127.0.0.1:9"), /nobody answers/, /--endpoint/],
    [failing("Error", "read ECONNRESET", { code: "ECONNRESET" }), /nobody answers/, /check the network/],
    [failing("Error", "DynamoDB left 9 rows unread, 6 times in a row"), /throttles \(DynamoDB left 9/, /wait a moment/],
    [failing("ProvisionedThroughputExceededException"), /throttles/, /wait a moment/],
    [failing("Error", "ENOSPC: no space left on device, write"), /cannot be written: ENOSPC/, /make room/],
    [failing("TypeError", "x is undefined"), /TypeError: x is undefined/, /--debug/],
  ])("%s", (error, what, remedy) => {
    expect(explain(error).what).toMatch(what);
    expect(explain(error).remedy).toMatch(remedy);
  });
});

describe("the life of a job, as its row tells it", () => {
  const row = a.bareRow({ jobId: "a", lane: "bg", enqueuedAtMs: 1_000, deadlineAtMs: 60_000 });
  const ended = (reply: ReturnType<typeof replyOf>) => ({
    ...row,
    startedAtMs: 2_000,
    stageAtMs: 3_000,
    reply: JSON.stringify(reply),
  });
  const meta = { ...noMeta, model: "fast", target: "west" };
  const job = { jobId: "a", metadata: {} };
  test.each<[says: string, row: JobRow, told: readonly string[]]>([
    ["one that waits for its first worker", row, ["queued in bg", "its deadline"]],
    [
      "one that is asked",
      { ...row, startedAtMs: 2_000, stage: "attempt=1/4", step: "fast@west", stageAtMs: 3_000 },
      ["queued in bg", "first taken by a worker", "attempt=1/4 at fast@west", "its deadline"],
    ],
    [
      "one that was handed back",
      { ...row, givenBack: 1, startedAtMs: 2_000, stage: "requeued until 1970", step: "fast@west", stageAtMs: 3_000 },
      ["queued in bg", "first taken by a worker", "requeued until 1970", "comes again, or sooner", "its deadline"],
    ],
    [
      "one whose workers died",
      { ...row, fence: 3, startedAtMs: 2_000, stage: "waiting", stageAtMs: 3_000 },
      ["queued in bg", "first taken by a worker", "waiting; 2 deliveries before crashed", "its deadline"],
    ],
    [
      "one that nobody knows",
      { ...row, fence: 0, releases: 2, releasedAtMs: 4_000 },
      ["queued in bg", "released by workers that do not know its model, 2 times", "its deadline"],
    ],
    [
      "one that succeeded",
      ended(replyOf(job, { kind: "succeeded", output: {} }, meta)),
      ["queued in bg", "first taken by a worker", "succeeded by fast@west"],
    ],
    [
      "one that was cancelled",
      ended(replyOf(job, { kind: "cancelled" }, meta)),
      ["queued in bg", "first taken by a worker", "cancelled"],
    ],
    [
      "one that expired",
      ended(replyOf(job, { kind: "expired" }, meta)),
      ["queued in bg", "first taken by a worker", "expired: deadline_exceeded"],
    ],
  ])("%s", (_says, its, told) => {
    const standing = its.stage?.startsWith("requeued") === true ? { why: "", untilMs: 30_000 } : undefined;
    expect(timelineOf(its, standing).map(({ what }) => what)).toEqual(told);
  });
});

test("a pause without an end has no hour at which it ends, and no place in the life of a job", () => {
  const standing = { why: "its lane bg is paused", untilMs: foreverMs };
  const row = a.bareRow({ jobId: "a", enqueuedAtMs: 1_000, stage: "requeued until 1970", stageAtMs: 3_000 });
  expect(whyText(standing, 4_000)).toBe("its lane bg is paused; until resumed");
  expect(whyText({ ...standing, untilMs: 64_000 }, 4_000)).toBe("its lane bg is paused; in 1 min");
  expect(timelineOf(row, standing).map(({ what }) => what)).toEqual(["queued", "requeued until 1970"]);
});

test("a list of open jobs says what it lacks, and which limit shows that", () => {
  expect(countText(0, "none")).toBe("no open job");
  expect(countText(50, "younger")).toBe("the oldest 50 open jobs; more with --limit");
  expect(countText(3, "any")).toBe("3 open jobs in what was read of a long table; --limit 1001 reads all of it");
});

test("a code that some replies have and other jobs were not sent for is counted of both", () => {
  const sums = new Sums(undefined);
  const error = { kind: "failed", error: { code: "invalid_envelope", message: "", retryable: false } } as const;
  sums.take(replyOf({ jobId: "a", metadata: {} }, error, noMeta), false);
  sums.notSent("b", "invalid_envelope", "no model");
  sums.notSent("c", "job_id_reused", "another's");
  expect(sums.codes).toEqual({ invalid_envelope: 2, job_id_reused: 1 });
});

test("progress says what is done, what runs and waits, and how long it will take", () => {
  const sums = new Sums(undefined);
  for (let index = 0; index < 2_000; index += 1) sums.sent(`job-${index}`);
  sums.sample(0);
  expect(progressText(sums, true, 80)).toBe("0 of 2,000 done, 0 in flight, 2,000 waiting");
  for (let index = 0; index < 500; index += 1)
    sums.take(replyOf({ jobId: `job-${index}`, metadata: {} }, { kind: "succeeded", output: {} }, noMeta), false);
  sums.sample(10_000);
  expect(progressText(sums, true, 80)).toBe("500 of 2,000 done, 0 in flight, 1,500 waiting, 50.0/s, 30 s left");
  expect(progressText(sums, true, 120)).toMatch(/^█{5}░{15} 500 of 2,000 done/);
  expect(progressText(sums, false, 80)).toBe("2,000 sent");
});
