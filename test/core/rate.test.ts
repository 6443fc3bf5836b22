import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  backMs,
  burstMs,
  charge,
  costMs,
  exceededTokens,
  marksMax,
  payTogether,
  settle,
  waitMsFor,
} from "../../lib/core/rate.ts";
import type { Charged, Clocks, Quota } from "../../lib/core/rate.ts";
import { t0 } from "../a.ts";

/** A request costs 110 ms of its clock, a token a tenth of that. */
const quota: Quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 };
const at = (tokensMs: number, requestsMs: number): Clocks => ({
  tokensAtMs: t0 + tokensMs,
  requestsAtMs: t0 + requestsMs,
});
const charged = (clocks: Clocks, id = "a"): Charged => ({
  kind: "charged",
  clocks: { ...clocks, charged: { [id]: t0 } },
});

describe("an attempt of 100 tokens", () => {
  const rows: [says: string, seen: Clocks | undefined, answer: Charged][] = [
    ["starts clocks that were never written", undefined, charged(at(1_100, 110))],
    ["starts clocks that stand in the past from now", at(-60_000, -1), charged(at(1_100, 110))],
    ["moves clocks that are ahead from where they are", at(4_999, 2_000), charged(at(6_099, 2_110))],
    ["waits for a clock that is a burst ahead until it is not", at(5_000, 0), { kind: "wait", waitMs: 1 }],
    ["waits exactly as long as the clock says", at(0, 65_432), { kind: "wait", waitMs: 60_433 }],
    ["waits for both where both are ahead", at(5_099, 5_009), { kind: "wait", waitMs: 100 }],
    ["moves neither clock while one is ahead", at(0, 5_000), { kind: "wait", waitMs: 1 }],
    ["waits whole ms for a clock that stands between two", at(5_000.25, 0), { kind: "wait", waitMs: 1 }],
    ["is charged once, however often it is sent", { ...at(9_999, 110), charged: { a: t0 - 9 } }, { kind: "already" }],
  ];
  test.each(rows)("%s", (_says, seen, answer) =>
    expect(charge(seen, { id: "a", tokens: 100 }, quota, t0)).toEqual(answer),
  );
});

test("an attempt named like a property of all objects has not been charged or settled before", () => {
  const seen = { ...at(0, 0), charged: {}, settled: {} };
  expect(charge(seen, { id: "toString", tokens: 100 }, quota, t0).kind).toBe("charged");
  expect(settle(seen, { id: "toString", tokens: 100 }, quota, t0)).toBeDefined();
});

describe("a quota", () => {
  test("lets a prompt of its whole size go into debt", () =>
    expect(charge(undefined, { id: "a", tokens: 6_000 }, quota, t0)).toEqual(charged(at(66_000, 110))));
  test("is exceeded by what is bigger, and says what would fit", () => {
    expect(exceededTokens({ tokens: 6_000, quota })).toBeUndefined();
    expect(exceededTokens({ tokens: 6_001, quota })).toBe(6_000);
  });
  test("of requests alone asks for no tokens", () =>
    expect(charge({ tokensAtMs: t0 + 1e9 }, { id: "a", tokens: 1e9 }, { requestsPerMinute: 600 }, t0)).toEqual(
      charged({ tokensAtMs: t0 + 1e9, requestsAtMs: t0 + 110 }),
    ));
  test("of tokens alone counts no requests", () =>
    expect(charge({ requestsAtMs: t0 + 1e9 }, { id: "a", tokens: 100 }, { tokensPerMinute: 6_000 }, t0)).toEqual(
      charged({ requestsAtMs: t0 + 1e9, tokensAtMs: t0 + 1_100 }),
    ));
  test("that is big still costs something", () => expect(costMs(1, 1_000_000)).toBe(0.066));
});

describe("attempts that pay together", () => {
  const rows: [says: string, seen: Clocks | undefined, tokens: readonly number[], count: number, clocks: Clocks][] = [
    ["start clocks that were never written", undefined, [100, 200], 2, at(3_300, 220)],
    ["are admitted as long as the clocks are less than a burst ahead", at(4_000, 0), [50, 50, 50], 2, at(5_100, 220)],
    ["are admitted none by a clock that is a burst ahead", at(0, 5_000), [1, 1], 0, at(0, 5_000)],
    ["are admitted the big one, and none after it", undefined, [100, 6_000, 1], 2, at(67_100, 220)],
  ];
  test.each(rows)("%s", (_says, seen, tokens, count, clocks) =>
    expect(payTogether(seen, { tokens, quota, nowMs: t0 })).toEqual({ count, clocks }),
  );

  test("are admitted and pay as if each came alone", () =>
    fc.assert(
      fc.property(
        fc.array(fc.nat(3_000), { maxLength: 10 }),
        fc.record({
          tokensAtMs: fc.integer({ min: -9, max: 6_000 }),
          requestsAtMs: fc.integer({ min: -9, max: 6_000 }),
        }),
        (tokens, ahead) => {
          const seen = at(ahead.tokensAtMs, ahead.requestsAtMs);
          const { count, clocks } = payTogether(seen, { tokens, quota, nowMs: t0 });
          let alone: Clocks = seen;
          const kinds = tokens.map((each, index) => {
            const answer = charge(alone, { id: `a${index}`, tokens: each }, quota, t0);
            if (answer.kind === "charged") alone = answer.clocks;
            return answer.kind;
          });
          expect(kinds.filter((kind) => kind === "charged")).toHaveLength(count);
          expect([clocks.tokensAtMs, clocks.requestsAtMs]).toEqual([alone.tokensAtMs, alone.requestsAtMs]);
        },
      ),
    ));
});

test.each<[says: string, unused: number | undefined, of: Quota, expected: number]>([
  ["all of it, unless it is said how much", undefined, quota, 1_100],
  ["what was not used", 40, quota, 440],
  ["one token too", 1, quota, 11],
  ["nothing where more was used", -1, quota, 0],
  ["nothing for what is no number", NaN, quota, 0],
  ["nothing where tokens are not counted", 40, { requestsPerMinute: 600 }, 0],
])("a reservation sets its clock back by %s", (_says, unused, of, expected) =>
  expect(backMs({ tokens: 100, quota: of }, unused)).toBe(expected),
);

describe("settling", () => {
  const seen: Clocks = { ...at(9_000, 700), settled: { other: t0 - 1 } };
  test("gives back the tokens and not the request", () =>
    expect(settle(seen, { id: "a", tokens: 100 }, quota, t0)).toEqual({
      ...at(7_900, 700),
      settled: { other: t0 - 1, a: t0 },
    }));
  test.each<[says: string, seen: Clocks | undefined, tokens: number, quota: Quota]>([
    ["a second time changes nothing", { ...seen, settled: { a: t0 - 1 } }, 100, quota],
    ["nothing changes nothing", seen, 0, quota],
    ["less than nothing changes nothing", seen, -1, quota],
    ["what is no number changes nothing", seen, NaN, quota],
    ["where tokens are not counted changes nothing", seen, 100, { requestsPerMinute: 600 }],
    ["where no clock was ever written changes nothing", { requestsAtMs: t0 }, 100, quota],
    ["without a row changes nothing", undefined, 100, quota],
  ])("%s", (_says, clocks, tokens, limits) => expect(settle(clocks, { id: "a", tokens }, limits, t0)).toBeUndefined());
});

test("the clocks remember the last attempts, charged and settled, and let go of the oldest", () => {
  const ids = Array.from({ length: marksMax + 3 }, (_, index) => `a${index}`);
  let clocks: Clocks = { charged: { old: t0 - 1 } };
  ids.forEach((id, index) => {
    const nowMs = t0 + index * 60_000;
    const answer = charge(clocks, { id, tokens: 9 }, quota, nowMs);
    clocks = answer.kind === "charged" ? answer.clocks : clocks;
    clocks = settle(clocks, { id, tokens: 1 }, quota, nowMs) ?? clocks;
  });
  expect(Object.keys(clocks.charged ?? {}).toSorted()).toEqual(ids.slice(3).toSorted());
  expect(Object.keys(clocks.settled ?? {}).toSorted()).toEqual(ids.slice(3).toSorted());
});

test("the wait is exact: a ms earlier it is refused, then it is admitted", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.nat(90_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (rpm, aheadMs, dust) => {
        const clocks = { requestsAtMs: t0 + burstMs + aheadMs + dust };
        const tryAt = (nowMs: number) => charge(clocks, { id: "a", tokens: 1 }, { requestsPerMinute: rpm }, nowMs);
        const answer = tryAt(t0);
        if (answer.kind !== "wait") throw new Error(`not refused: ${answer.kind}`);
        expect(tryAt(t0 + answer.waitMs - 1)).toEqual({ kind: "wait", waitMs: 1 });
        expect(tryAt(t0 + answer.waitMs).kind).toBe("charged");
      },
    ),
  );
});

// A minute's worth of hostile senders.

interface Sent {
  readonly atMs: number;
  readonly tokens: number;
}

/** Sends at these times (true ms; each sender's own clock is wrong by its skew), and notes what was admitted when. */
function admitted(limits: Quota, arrivals: readonly { readonly atMs: number; readonly skewMs?: number }[]): Sent[] {
  let clocks: Clocks = {};
  const sent: Sent[] = [];
  arrivals.forEach(({ atMs, skewMs = 0 }, index) => {
    const answer = charge(clocks, { id: `a${index}`, tokens: 0 }, limits, atMs + skewMs);
    if (answer.kind !== "charged") return;
    clocks = answer.clocks;
    sent.push({ atMs, tokens: 0 });
  });
  return sent;
}

/** The most that any 60 s hold; the fullest window begins with something that was sent. */
function fullestMinute(sent: readonly Sent[]): number {
  let [most, first] = [0, 0];
  sent.forEach(({ atMs }, last) => {
    while (atMs - (sent[first]?.atMs ?? atMs) >= 60_000) first++;
    most = Math.max(most, last - first + 1);
  });
  return most;
}

const every = (gapMs: number, untilMs: number, fromMs = 0) =>
  Array.from({ length: Math.floor((untilMs - fromMs) / gapMs) }, (_, index) => ({ atMs: t0 + fromMs + index * gapMs }));

describe("600 requests a minute", () => {
  const minutes = 10;
  const over = minutes * 60_000;
  const patterns: [says: string, arrivals: { atMs: number; skewMs?: number }[]][] = [
    ["1.5 × as many, evenly", every(60_000 / 900, over)],
    ["ten times as many", every(10, over)],
    ["a thousand at once every ten seconds", every(10_000, over).flatMap((one) => Array<typeof one>(1_000).fill(one))],
    ["a thousand at once every minute", every(60_000, over).flatMap((one) => Array<typeof one>(1_000).fill(one))],
    [
      "a rush after each quiet that filled the burst again",
      Array.from({ length: 9 }, (_, n) => every(10, n * 66_000 + 60_000, n * 66_000)).flat(),
    ],
    [
      "workers whose clocks are half a second ahead and behind",
      every(10, over).map((one, n) => ({ ...one, skewMs: n % 2 ? 500 : -500 })),
    ],
    [
      "clocks that run ahead as the minute ends",
      every(10, over).map((one, n) => ({ ...one, skewMs: n * 10 < 55_000 ? -500 : 500 })),
    ],
  ];
  test.each(patterns)("are never exceeded in any 60 s by %s", (_says, arrivals) =>
    expect(fullestMinute(admitted({ requestsPerMinute: 600 }, arrivals))).toBeLessThanOrEqual(600),
  );

  test("are 591 in the fullest minute, and a tenth less for as long as one likes", () => {
    const sent = admitted({ requestsPerMinute: 600 }, every(10, over));
    expect(fullestMinute(sent)).toBe(591);
    expect(sent.length).toBeGreaterThanOrEqual((minutes * 600) / 1.1);
    expect(sent.length).toBeLessThanOrEqual((minutes * 600) / 1.1 + burstMs / 110 + 1);
  });
});

test("no 60 s hold more requests than the quota, whatever it is, however they come, with clocks wrong by 500 ms", () => {
  const anyArrival = fc.record({
    gapMs: fc.oneof({ weight: 6, arbitrary: fc.nat(200) }, fc.nat(5_000), fc.nat(70_000)),
    times: fc.oneof(fc.constant(1), fc.nat(200)),
    skewMs: fc.oneof(fc.constantFrom(-500, 0, 500), fc.integer({ min: -500, max: 500 })),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 900 }),
      fc.array(anyArrival, { minLength: 1, maxLength: 120 }),
      (rpm, plan) => {
        let atMs = t0;
        const arrivals = plan.flatMap(({ gapMs, times, skewMs }) => {
          atMs += gapMs;
          return Array.from({ length: times }, () => ({ atMs, skewMs }));
        });
        expect(fullestMinute(admitted({ requestsPerMinute: rpm }, arrivals))).toBeLessThanOrEqual(rpm);
      },
    ),
    { numRuns: 300 },
  );
});

/** What each 60 s that end with an admission take off the quota, less what came back in them, beyond that admission. */
function netMinutes(moved: readonly Sent[]): number[] {
  return moved.flatMap((last, index) => {
    if (last.tokens < 0) return [];
    const before = moved.slice(0, index).filter(({ atMs }) => last.atMs - atMs < 60_000);
    // A window may begin with any admission.
    return before.map((_first, from) => before.slice(from).reduce((sum, { tokens }) => sum + tokens, 0));
  });
}

test("what 60 s take off the tokens, less what comes back in them, is the quota and a last prompt at most", () => {
  const tokensPerMinute = 100_000;
  const anyAttempt = fc.record({
    gapMs: fc.oneof(fc.nat(500), fc.nat(20_000)),
    tokens: fc.oneof(fc.nat(5_000), fc.nat(tokensPerMinute)),
    unused: fc.double({ min: 0, max: 1, noNaN: true }),
    tookMs: fc.nat(90_000),
  });
  fc.assert(
    fc.property(fc.array(anyAttempt, { minLength: 1, maxLength: 60 }), (attempts) => {
      let atMs = t0;
      const events = attempts.flatMap(({ gapMs, tookMs, tokens, unused }, index) => {
        atMs += gapMs;
        const id = `a${index}`;
        const gone = { id, atMs: atMs + tookMs, tokens: tokens * unused, over: true };
        return [{ id, atMs, tokens, over: false }, gone];
      });

      let clocks: Clocks = {};
      const moved: Sent[] = [];
      const going = new Set<string>();
      for (const { over, ...event } of events.toSorted((a, b) => a.atMs - b.atMs)) {
        const next = over
          ? going.has(event.id) && settle(clocks, event, { tokensPerMinute }, event.atMs)
          : charge(clocks, event, { tokensPerMinute }, event.atMs);
        if (!next || ("kind" in next && next.kind !== "charged")) continue;
        clocks = "kind" in next ? next.clocks : next;
        moved.push({ atMs: event.atMs, tokens: over ? -event.tokens : event.tokens });
        if (!over) going.add(event.id);
      }
      expect(Math.max(0, ...netMinutes(moved))).toBeLessThanOrEqual((tokensPerMinute * 65) / 66 + 1e-3);
    }),
    { numRuns: 200 },
  );
});

test("clocks that are behind ask for no wait, and for none below it", () =>
  expect(waitMsFor(at(-9_000, -9_000), quota, t0)).toBe(0));

test("so many attempts are remembered that two heads' worth stay near 1 KB", () => expect(marksMax).toBe(16));
