import { describe, expect, test } from "vitest";

import { Tally } from "../../lib/operate/tally.ts";
import { noMeta, replyOf } from "../../lib/core/reply.ts";
import type { Reply } from "../../lib/core/reply.ts";

const failed = (jobId: string) =>
  ({
    jobId,
    ok: false,
    status: "failed",
    error: { code: "provider_error", kind: "fatal", message: `${jobId} is wrong`, retryable: false },
  }) as Reply;

describe("a job that could not be sent", () => {
  test("is unanswered, is not waited for, and says why", () => {
    const tally = new Tally();
    tally.sent("a");
    tally.notSent("b", "Throttled");
    expect(tally.open).toEqual(["a"]);
    expect(tally.counts).toMatchObject({ jobs: 2, unanswered: 2, notSent: 1 });
    expect(tally.messages).toBe(1);
    expect(tally.unsuccessful).toEqual([
      { jobId: "b", code: "not sent", message: "Throttled" },
      { jobId: "a", code: "unanswered", message: "" },
    ]);
  });

  test.each([
    ["before", (tally: Tally) => tally.sent("a"), (tally: Tally) => tally.notSent("a", "Throttled")],
    ["after", (tally: Tally) => tally.notSent("a", "Throttled"), (tally: Tally) => tally.sent("a")],
  ])("counts as sent if another message of it went out %s", (_says, first, then) => {
    const tally = new Tally();
    first(tally);
    then(tally);
    expect(tally.open).toEqual(["a"]);
    expect(tally.counts).toMatchObject({ jobs: 1, unanswered: 1, notSent: 0 });
  });
});

test("the first that were sent can be asked for alone, without those that were answered", () => {
  const tally = new Tally();
  for (const name of ["a", "b", "c", "d"]) tally.sent(name);
  tally.take(failed("b"));
  expect(tally.openFirst(2)).toEqual(["a", "c"]);
  expect(tally.openFirst(9)).toEqual(["a", "c", "d"]);
});

test("the first twenty jobs that did not succeed are named, with code and message", () => {
  const tally = new Tally();
  const names = Array.from({ length: 25 }, (_, place) => `job-${place}`);
  for (const name of names) tally.sent(name);
  for (const name of names) tally.take(failed(name));
  expect(tally.unsuccessful).toHaveLength(20);
  expect(tally.unsuccessful[0]).toEqual({ jobId: "job-0", code: "provider_error", message: "job-0 is wrong" });
  expect(tally.counts).toMatchObject({ jobs: 25, failed: 25, unanswered: 0 });
});

test("a job that did not succeed says why without the provider's own words", () => {
  const tally = new Tally();
  const why = { code: "provider_error", retryable: false } as const;
  const message = "west refused the request: X (400); correct it";
  const errors = {
    newer: { ...why, message, providerMessage: "Ada" },
    older: { ...why, message: 'west refused the request: X (400): "Ada"; correct it' },
  };
  for (const [jobId, error] of Object.entries(errors))
    tally.take(replyOf({ jobId, metadata: {} }, { kind: "failed", error }, noMeta));
  expect(tally.unsuccessful).toEqual([
    { jobId: "newer", code: "provider_error", message },
    { jobId: "older", code: "provider_error", message },
  ]);
});
