import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Head } from "../../lib/core/lease.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { cut, limitOf, patienceMs, pauseDay, raise, sameHead } from "../../lib/core/limit.ts";
import { t0 } from "../a.ts";

const bounds = { limitStart: 20, limitMax: 60 };
const anyHead = fc.option(
  fc.record(
    {
      lim: fc.integer({ min: 1, max: 100 }),
      cutAtMs: fc.integer({ min: t0 - 60_000, max: t0 }),
      cutFrom: fc.integer({ min: 1, max: 100 }),
      raisedAtMs: fc.integer({ min: t0 - 60_000, max: t0 }),
      pausedUntilMs: fc.integer({ min: t0 - 60_000, max: t0 + 60_000 }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const anyBounds = fc
  .tuple(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 80 }))
  .map(([a, b]) => ({ limitStart: Math.min(a, b), limitMax: Math.max(a, b) }));

describe("the limit in force", () => {
  test.each<[says: string, head: Head | undefined, limit: number]>([
    ["is the start while nothing was learned", undefined, 20],
    ["is the start under a head that says other things", { pausedUntilMs: t0 }, 20],
    ["is what was learned", { lim: 33 }, 33],
    ["is never above the configured maximum", { lim: 61 }, 60],
    ["is never below one", { lim: 0 }, 1],
  ])("%s", (_says, head, limit) => expect(limitOf(head, bounds)).toBe(limit));

  test("starts at the maximum where the maximum is lower", () =>
    expect(limitOf(undefined, { limitStart: 20, limitMax: 5 })).toBe(5));
});

describe("a job stands in line for a lease", () => {
  test.each<[says: string, lane: Lane, head: Head | undefined, waitMs: number]>([
    ["as long as it may, under the configured maximum", "bg", { lim: 60 }, 1_000],
    ["less under a limit that was cut, for most stand there in vain", "bulk", { lim: 6 }, 100],
    ["less while the limit is at its start", "bg", undefined, 333],
    ["in whole ms, the nearest", "bg", { lim: 40 }, 667],
    ["to the end where somebody waits for it", "rt", { lim: 6 }, 1_000],
  ])("%s", (_says, lane, head, waitMs) => expect(patienceMs(1_000, lane, head, bounds)).toBe(waitMs));
});

describe("a throttle", () => {
  const rows: [says: string, head: Head | undefined, retryAfterMs: number | undefined, after: Head | undefined][] = [
    ["cuts a tenth and pauses 2 s", { lim: 30 }, undefined, { lim: 27, cutFrom: 30, pausedUntilMs: t0 + 2_000 }],
    [
      "cuts the start where nothing was learned",
      undefined,
      undefined,
      { lim: 18, cutFrom: 20, pausedUntilMs: t0 + 2_000 },
    ],
    ["pauses as long as the server says", { lim: 30 }, 7_000, { lim: 27, cutFrom: 30, pausedUntilMs: t0 + 7_000 }],
    ["pauses not at all if the server says so", { lim: 30 }, 0, { lim: 27, cutFrom: 30, pausedUntilMs: t0 }],
    ["pauses 15 min at most", { lim: 30 }, 1e9, { lim: 27, cutFrom: 30, pausedUntilMs: t0 + 900_000 }],
    [
      "never shortens a pause",
      { lim: 30, pausedUntilMs: t0 + 60_000 },
      7_000,
      { lim: 27, cutFrom: 30, pausedUntilMs: t0 + 60_000 },
    ],
    ["rounds down", { lim: 9 }, undefined, { lim: 8, cutFrom: 9, pausedUntilMs: t0 + 2_000 }],
    ["leaves one", { lim: 1 }, undefined, { lim: 1, cutFrom: 1, pausedUntilMs: t0 + 2_000 }],
    [
      "cuts what is in force, not what was once learned",
      { lim: 90 },
      undefined,
      { lim: 54, cutFrom: 60, pausedUntilMs: t0 + 2_000 },
    ],
  ];
  test.each(rows)("%s", (_says, head, retryAfterMs, after) =>
    expect(cut(head, bounds, t0, retryAfterMs)).toEqual({ ...after, cutAtMs: t0 }),
  );

  test.each([
    ["2 s after a cut changes nothing", 2_000, false],
    ["later than that cuts again", 2_001, true],
  ])("%s", (_says, agoMs, cuts) =>
    expect(cut({ lim: 30, cutAtMs: t0 - agoMs }, bounds, t0, 7_000) !== undefined).toBe(cuts),
  );

  test("remembers when the limit was raised", () =>
    expect(cut({ lim: 30, raisedAtMs: t0 - 9 }, bounds, t0)).toMatchObject({ raisedAtMs: t0 - 9 }));

  test("never raises, and never cuts below one", () => {
    fc.assert(
      fc.property(anyHead, anyBounds, fc.nat(1_000_000), (head, limits, retryAfterMs) => {
        const after = cut(head, limits, t0, retryAfterMs);
        if (after === undefined) return;
        const [was, is] = [limitOf(head, limits), limitOf(after, limits)];
        expect(is).toBeGreaterThanOrEqual(1);
        expect(is).toBeLessThanOrEqual(was);
        expect(after.pausedUntilMs).toBeGreaterThanOrEqual(head?.pausedUntilMs ?? 0);
        // One cut a cooldown.
        expect(cut(after, limits, t0 + 2_000)).toBeUndefined();
      }),
    );
  });
});

describe("the end of a day's quota", () => {
  test("pauses 15 min and cuts nothing", () =>
    expect(pauseDay({ lim: 30, cutAtMs: 7 }, t0)).toEqual({ lim: 30, cutAtMs: 7, pausedUntilMs: t0 + 900_000 }));
  test("is news also right after a cut", () => expect(pauseDay({ lim: 30, cutAtMs: t0 }, t0)).toBeDefined());
  test("never shortens a pause", () => expect(pauseDay({ pausedUntilMs: t0 + 900_001 }, t0)).toBeUndefined());
  test("told by many within 2 s is written once", () => {
    expect(pauseDay(pauseDay(undefined, t0), t0 + 2_000)).toBeUndefined();
    expect(pauseDay(pauseDay(undefined, t0), t0 + 2_001)).toEqual({ pausedUntilMs: t0 + 902_001 });
  });
});

describe("a raise by time", () => {
  const busy = 60;
  const rows: [says: string, head: Head | undefined, out: number, after: Head | undefined][] = [
    ["adds one to a small limit", { lim: 12 }, busy, { lim: 13 }],
    ["adds a twentieth to a big one", { lim: 40 }, busy, { lim: 42 }],
    ["in whole leases", { lim: 45 }, busy, { lim: 47 }],
    ["starts from the start", undefined, busy, { lim: 21 }],
    ["stops at the maximum", { lim: 59 }, busy, { lim: 60 }],
    ["goes no further", { lim: 60 }, busy, undefined],
    ["waits while less than half of the limit is out", { lim: 13 }, 6, undefined],
    ["comes with half of it", { lim: 12 }, 6, { lim: 13 }],
    ["waits for 5 s after a cut", { lim: 12, cutAtMs: t0 - 4_999 }, busy, undefined],
    ["comes then", { lim: 12, cutAtMs: t0 - 5_000 }, busy, { lim: 13, cutAtMs: t0 - 5_000 }],
    ["waits for 2 s after another", { lim: 12, raisedAtMs: t0 - 1_999 }, busy, undefined],
    ["comes then again", { lim: 12, raisedAtMs: t0 - 2_000 }, busy, { lim: 13 }],
    ["keeps a pause", { lim: 12, pausedUntilMs: 7 }, busy, { lim: 13, pausedUntilMs: 7 }],
    [
      "goes on below the limit that was throttled",
      { lim: 12, cutAtMs: t0 - 5_000, cutFrom: 14 },
      busy,
      { lim: 13, cutAtMs: t0 - 5_000, cutFrom: 14 },
    ],
    ["does not reach it within 45 s", { lim: 12, cutAtMs: t0 - 44_999, cutFrom: 13 }, busy, undefined],
    [
      "reaches it then, and forgets it",
      { lim: 12, cutAtMs: t0 - 45_000, cutFrom: 13 },
      busy,
      { lim: 13, cutAtMs: t0 - 45_000 },
    ],
  ];
  test.each(rows)("%s", (_says, head, out, after) =>
    expect(raise(head, bounds, out, t0)).toEqual(after && { ...after, raisedAtMs: t0 }),
  );

  test("asks a lane with a small share for half of what it may hold: alone it can fill no more", () => {
    expect(raise({ lim: 10 }, bounds, 4, t0, 0.4)).toMatchObject({ lim: 11 });
    expect(raise({ lim: 10 }, bounds, 2, t0, 0.4)).toMatchObject({ lim: 11 });
    expect(raise({ lim: 10 }, bounds, 1, t0, 0.4)).toBeUndefined();
  });

  test("never passes the maximum, and always raises", () => {
    fc.assert(
      fc.property(anyHead, anyBounds, fc.nat(200), (head, limits, out) => {
        const after = raise(head, limits, out, t0);
        if (after === undefined) return;
        expect(limitOf(after, limits)).toBeGreaterThan(limitOf(head, limits));
        expect(after.lim).toBeLessThanOrEqual(limits.limitMax);
        // One raise each 2 s.
        expect(raise(after, limits, out, t0 + 1_999)).toBeUndefined();
      }),
    );
  });

  test("finds a true 12 under a start of 40 in half a minute", () => {
    let head: Head | undefined;
    const limits = { limitStart: 40, limitMax: 60 };
    for (let nowMs = t0; nowMs <= t0 + 30_000; nowMs += 100) {
      const limit = limitOf(head, limits);
      head = (limit > 12 ? cut(head, limits, nowMs) : raise(head, limits, limit, nowMs)) ?? head;
    }
    expect([11, 12]).toContain(limitOf(head, limits));
  });
});

describe("two heads", () => {
  const head: Head = { lim: 1, cutAtMs: 2, cutFrom: 3, raisedAtMs: 4, pausedUntilMs: 5 };
  test("are the same when every word is", () => expect(sameHead(head, { ...head })).toBe(true));
  test("are the same when neither was written", () => expect(sameHead(undefined, undefined)).toBe(true));
  test.each(Object.keys(head))("differ by %s", (field) => expect(sameHead(head, { ...head, [field]: 9 })).toBe(false));
});
