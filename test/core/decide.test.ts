import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Next, Standing } from "../../lib/core/decide.ts";
import { decide, maySleep } from "../../lib/core/decide.ts";
import type { Failure, FailureKind } from "../../lib/core/failure.ts";
import { laneLimits } from "../../lib/core/limits.ts";

const failure = (kind: FailureKind, retryAfterMs?: number): Failure => ({
  kind,
  name: "X",
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

/** A first failure with plenty of everything left. */
const calm: Standing = {
  lane: "bg",
  attempt: 1,
  stepsLeft: 1,
  lifeAttemptsLeft: 11,
  deadlineLeftMs: 3_600_000,
  invocationLeftMs: 290_000,
  attemptMs: 9_000,
  sleptMs: 0,
  jitter: 0.5,
};
const advance: Next = { kind: "advance" };
const fail: Next = { kind: "fail" };
const retry = (delayMs: number): Next => ({ kind: "retry", delayMs });

describe("after a failed attempt", () => {
  test.each<[says: string, failure: Failure, at: Partial<Standing>, next: Next]>([
    ["a first blip waits its share of 1 s", failure("transient"), {}, retry(500)],
    ["the third waits its share of 4 s", failure("transient"), { attempt: 3 }, retry(2_000)],
    ["the fourth attempt on a step is its last", failure("transient"), { attempt: 4 }, advance],
    ["a request that cannot be served ends the job at once", failure("fatal"), {}, fail],

    ["a throttle's pause is another step's chance", failure("throttled"), {}, advance],
    ["and nothing to sleep for when there is none", failure("throttled"), { stepsLeft: 0 }, advance],
    ["a throttle that names a short pause is slept", failure("throttled", 1_000), {}, retry(1_000)],
    ["a pause of 5 s may be slept", failure("throttled", 5_000), {}, retry(5_000)],
    ["a longer one not", failure("throttled", 5_001), {}, advance],
    ["a throttled step is asked again up to its sixth time", failure("throttled", 10), { attempt: 5 }, retry(10)],
    ["and no more then", failure("throttled", 10), { attempt: 6 }, advance],
    ["a model that loads has four attempts like any other", failure("not-ready", 10), { attempt: 4 }, advance],
    ["and is asked again before", failure("not-ready", 10), { attempt: 3 }, retry(10)],
    ["a spent day does not come back", failure("daily"), {}, advance],
    ["not even if the server says it does", failure("daily", 10), {}, advance],

    ["a hung target is not asked again while another step waits", failure("hung"), {}, advance],
    ["but on the last step it is", failure("hung"), { stepsLeft: 0 }, retry(500)],
    ["a target that cannot serve is left", failure("target"), {}, advance],
    ["also on the last step: the chain's end knows whether all say so", failure("target"), { stepsLeft: 0 }, advance],
    ["a window that is too small is left", failure("context"), {}, advance],

    ["a spent life ends the job", failure("transient"), { lifeAttemptsLeft: 0 }, fail],
    ["also where another step waits", failure("hung"), { lifeAttemptsLeft: 0 }, fail],
    ["the last attempt of a life may be made", failure("transient"), { lifeAttemptsLeft: 1 }, retry(500)],

    ["a pause that reaches the deadline is not slept", failure("transient"), { deadlineLeftMs: 500 }, advance],
    ["one that ends before it is", failure("transient"), { deadlineLeftMs: 501 }, retry(500)],
    ["an invocation must outlive the pause by an attempt", failure("transient"), { invocationLeftMs: 9_499 }, advance],
    ["and just does", failure("transient"), { invocationLeftMs: 9_500 }, retry(500)],
    ["20 s of backoff may be slept in one delivery", failure("transient"), { sleptMs: 19_500 }, retry(500)],
    ["and no more", failure("transient"), { sleptMs: 19_501 }, advance],
    ["in the rt lane 10 s", failure("transient"), { lane: "rt", sleptMs: 9_500 }, retry(500)],
    ["and no more there", failure("transient"), { lane: "rt", sleptMs: 9_501 }, advance],
  ])("%s", (_says, failed, at, next) => expect(decide(failed, { ...calm, ...at })).toEqual(next));

  const kinds: FailureKind[] = ["throttled", "daily", "not-ready", "transient", "hung", "target", "context", "fatal"];
  const standing = fc.record({
    lane: fc.constantFrom("rt", "bg", "bulk"),
    attempt: fc.integer({ min: 1, max: 8 }),
    stepsLeft: fc.integer({ min: 0, max: 3 }),
    lifeAttemptsLeft: fc.integer({ min: -1, max: 12 }),
    deadlineLeftMs: fc.integer({ min: -1_000, max: 100_000 }),
    invocationLeftMs: fc.integer({ min: -1_000, max: 100_000 }),
    attemptMs: fc.integer({ min: 0, max: 50_000 }),
    sleptMs: fc.integer({ min: 0, max: 25_000 }),
    jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  } satisfies Record<keyof Standing, unknown>);

  test("nobody sleeps longer than 5 s, past the deadline, past the bell or past the delivery's budget", () =>
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.option(fc.nat(10_000), { nil: undefined }),
        standing,
        (kind, askedMs, at) => {
          const next = decide(failure(kind, askedMs), at);
          if (next.kind !== "retry") return;
          expect(next.delayMs).toBeLessThanOrEqual(5_000);
          expect(next.delayMs).toBeLessThan(at.deadlineLeftMs);
          expect(next.delayMs + at.attemptMs).toBeLessThanOrEqual(at.invocationLeftMs);
          expect(next.delayMs + at.sleptMs).toBeLessThanOrEqual(laneLimits[at.lane].backoffMsMax);
        },
      ),
    ));
});

test("what has no end is not slept", () => expect(maySleep(Infinity, calm)).toBe(false));
