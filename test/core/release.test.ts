import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hiding } from "../../lib/core/release.ts";
import {
  againDelayS,
  heldDelayS,
  mayWaitUnclaimed,
  noRoomDelayS,
  notBegunDelayS,
  notYetDelayS,
  pausedForMs,
  releaseNext,
  requeueDelayS,
  strangerDelayS,
  unknownWaitMs,
} from "../../lib/core/release.ts";
import { t0 } from "../a.ts";

type Requeue = Parameters<typeof requeueDelayS>[0];

/** A bg job's first receive, an hour before its deadline, and a die that shows nothing. */
const calm: Requeue = {
  lane: "bg",
  receives: 1,
  deadlineLeftMs: 3_600_000,
  sinceReceiveMs: 0,
  jitter: 0,
  cause: "transient",
  requeues: 0,
};
const nearlyOne = 1 - Number.EPSILON;

describe("a requeued message comes again", () => {
  test.each<[says: string, at: Partial<Requeue>, leastS: number, mostS: number]>([
    ["after 5 s, and up to a fifth more", {}, 5, 6],
    ["after twice as long each time", { requeues: 3 }, 40, 48],
    ["when the wait is known, then", { knownWaitMs: 12_000 }, 12, 15],
    ["at once, when it is known to be none", { knownWaitMs: 0 }, 0, 0],
    ["never before a wait's end", { knownWaitMs: 12_001 }, 13, 15],
    ["within a quarter of the time left", { requeues: 20, deadlineLeftMs: 100_000 }, 25, 30],
    ["a known wait too", { knownWaitMs: 80_000, deadlineLeftMs: 100_000 }, 25, 30],
    ["within 2 min", { requeues: 20, deadlineLeftMs: 40_000_000 }, 120, 144],
    ["within 15 min when the wait is known", { knownWaitMs: 1e9, deadlineLeftMs: 40_000_000 }, 900, 1_080],
    ["after a pause spread over as long again", { cause: "paused", knownWaitMs: 60_000 }, 60, 120],
    ["after the server's own pause too", { cause: "capacity", knownWaitMs: 60_000 }, 60, 120],
    ["without a lease, nobody waited for a pause", { cause: "capacity" }, 5, 6],
    ["after a spent quota, for which many wait", { cause: "quota", knownWaitMs: 60_000 }, 60, 120],
    ["soon at its first turn", { cause: "quota", knownWaitMs: 900 }, 1, 2],
    [
      "as at the first, where nobody knows how often it came",
      { cause: "quota", knownWaitMs: 900, receives: NaN },
      1,
      2,
    ],
    ["later each time that it waited for its turn in vain", { cause: "quota", knownWaitMs: 900, receives: 5 }, 16, 32],
    ["and after a spent budget", { cause: "budget", knownWaitMs: 60_000 }, 60, 120],
    ["its turn after a short pause too", { cause: "paused", knownWaitMs: 900, receives: 5 }, 16, 32],
    ["for its turn within 2 min", { cause: "quota", knownWaitMs: 900, receives: 49 }, 120, 240],
    ["after a probe of a breaker up to a fifth later", { cause: "circuit_open", knownWaitMs: 60_000 }, 60, 72],
    ["not past the deadline", { cause: "paused", knownWaitMs: 1e9, deadlineLeftMs: 3_500 }, 1, 2],
    ["not past a deadline that is past", { deadlineLeftMs: -1 }, 0, 0],
    ["below the heartbeat of a task token", { requeues: 5, heartbeatSeconds: 30 }, 29, 29],
    ["below a broken second of one", { requeues: 5, heartbeatSeconds: 29.5 }, 29, 29],
    ["at once, where the heartbeat is a second", { heartbeatSeconds: 1 }, 0, 0],
    ["within half a minute of a crowded queue", { requeues: 20, crowded: true }, 30, 23],
    ["sooner there too, when that is known", { knownWaitMs: 12_000, crowded: true }, 12, 15],
    ["not so soon that its receives are used up", { receives: 180, crowded: true }, 360, 360],
    ["within what SQS has left of its 12 hours", { requeues: 9, sinceReceiveMs: 43_195_001 }, 4, 4],
    ["and not at all, when nothing is", { sinceReceiveMs: 50_000_000 }, 0, 0],
  ])("%s", (_says, at, leastS, mostS) => {
    expect(requeueDelayS({ ...calm, ...at })).toBe(leastS);
    expect(requeueDelayS({ ...calm, ...at, jitter: nearlyOne })).toBe(mostS);
  });

  test("a die that shows more than one, or nothing, adds no more than it may", () => {
    expect(requeueDelayS({ ...calm, jitter: 7 })).toBe(6);
    expect(requeueDelayS({ ...calm, jitter: Number.NaN })).toBe(5);
    expect(againDelayS({ ...calm, jitter: 7 })).toBe(15);
  });

  test("for whose object there was no room, in seconds; where somebody waits, at once", () => {
    const [least, most] = [0, nearlyOne].map((jitter) => ({ ...calm, jitter }));
    expect([least, most].map((at) => noRoomDelayS({ ...calm, ...at }))).toEqual([5, 15]);
    expect([least, most].map((at) => noRoomDelayS({ ...calm, ...at, lane: "rt" }))).toEqual([0, 2]);
  });

  test("a wait of which nothing is known doubles from 5 s up to 2 min", () =>
    expect([0, 1, 2, 7, 8, 5_000, Number.NaN].map(unknownWaitMs)).toEqual([
      5_000, 10_000, 20_000, 120_000, 120_000, 120_000, 5_000,
    ]));
});

describe("when receives run short, every hiding lasts so long that the rest of them reach the deadline", () => {
  const hour: Hiding = { lane: "bg", receives: 50, deadlineLeftMs: 3_600_000, sinceReceiveMs: 0, jitter: 0 };
  const hidings: [name: string, delayS: (at: Hiding) => number][] = [
    ["a requeue", (at) => requeueDelayS({ ...calm, ...at, deadlineLeftMs: at.deadlineLeftMs ?? 0 })],
    ["a held claim", (at) => heldDelayS({ ...at, nowMs: t0, heldUntilMs: t0 })],
    ["a late copy", (at) => heldDelayS({ ...at, nowMs: t0, heldUntilMs: t0, lateCopy: true })],
    ["a delay that has not passed", (at) => notYetDelayS({ ...at, nowMs: t0, notBeforeMs: t0 })],
    ["a trouble", againDelayS],
    ["a record not begun", notBegunDelayS],
    ["an object without room", noRoomDelayS],
    [
      "a release",
      (at) => {
        const next = releaseNext({ ...at, deadlineLeftMs: at.deadlineLeftMs ?? 0, releases: 0 });
        return next.kind === "release" ? next.delayS : -1;
      },
    ],
  ];

  test.each(hidings)("%s", (_name, delayS) => {
    expect(delayS({ ...hour, receives: 49 })).toBeLessThan(11);
    expect(delayS({ ...hour, receives: 50 })).toBe(26); // 3,600 s over 140 receives
    expect(delayS({ ...hour, receives: 188 })).toBe(1_800);
    expect(delayS({ ...hour, receives: 189 })).toBe(1_800); // never to the very deadline
    expect(delayS({ ...hour, receives: 500 })).toBe(1_800);
    expect(delayS({ ...hour, lane: "rt", receives: 24, deadlineLeftMs: 300_000 })).toBeLessThan(11);
    expect(delayS({ ...hour, lane: "rt", receives: 25, deadlineLeftMs: 300_000 })).toBe(20); // over 15
  });

  test.each(hidings)("only a task token's heartbeat shortens it: %s", (_name, delayS) =>
    expect(delayS({ ...hour, receives: 189, heartbeatSeconds: 60 })).toBe(59),
  );

  test.each(hidings)("and SQS itself: %s", (_name, delayS) =>
    expect(delayS({ ...hour, receives: 189, sinceReceiveMs: 43_100_000 })).toBe(100),
  );

  test("an envelope that is unread has its lane's latest deadline", () =>
    expect(againDelayS({ lane: "bg", receives: 188, sinceReceiveMs: 0, jitter: 0 })).toBe(21_600));

  test("a job whose deadline has passed waits to be told so: for a while, and not until its receives are gone", () => {
    expect(againDelayS({ ...hour, receives: 188, deadlineLeftMs: 0 })).toBe(900);
    expect(againDelayS({ ...hour, lane: "rt", receives: 30, deadlineLeftMs: 0 })).toBe(30);
  });

  test("a message that only another version may read comes again after a minute, and up to half of it more", () => {
    const at = { lane: "bg", receives: 1, sinceReceiveMs: 0 } as const;
    expect([0, nearlyOne].map((jitter) => strangerDelayS({ ...at, jitter }))).toEqual([60, 90]);
  });

  test("a job that has lowered its lane has its own, which is later", () =>
    expect(againDelayS({ ...hour, lane: "rt", receives: 30, deadlineLeftMs: 12 * 3_600_000 })).toBe(4_320));
});

const released = (at: Partial<Parameters<typeof releaseNext>[0]>) => {
  const next = releaseNext({ ...calm, releases: 0, ...at });
  return next.kind === "release" ? next.delayS : next.kind;
};

describe("a model that this worker does not know", () => {
  test.each<[says: string, at: Parameters<typeof released>[0], least: number | string, most: number | string]>([
    ["is left to another version for 10 s, and up to half of it more", {}, 10, 15],
    ["the second time half as long again", { releases: 1 }, 15, 23],
    ["the fourth time", { releases: 3 }, 34, 51],
    ["and 60 s at most", { releases: 19 }, 60, 90],
    ["twenty times", { releases: 20 }, "answer", "answer"],
    ["while more than 20 s are left", { deadlineLeftMs: 20_000 }, "answer", "answer"],
    ["to the last millisecond that may be spared", { deadlineLeftMs: 20_001 }, 1, 1],
    ["never hidden into them", { deadlineLeftMs: 21_000 }, 1, 1],
    ["not for ever, should the count be unreadable", { releases: Number.NaN }, "answer", "answer"],
    ["nor the deadline", { deadlineLeftMs: Number.NaN }, "answer", "answer"],
  ])("%s", (_says, at, least, most) => {
    expect(released(at)).toBe(least);
    expect(released({ ...at, jitter: nearlyOne })).toBe(most);
  });
});

describe("a message that is not ours now is hidden", () => {
  const at = { ...calm, nowMs: t0 };
  const dice = [0, 0.5, nearlyOne];
  const each = (delayS: (jitter: number) => number) => dice.map(delayS);

  test("while another holds its claim: until that may be taken, and up to 2 s more", () =>
    expect(each((jitter) => heldDelayS({ ...at, jitter, heldUntilMs: t0 + 10_000 }))).toEqual([12, 13, 14]));

  test("at a claim that has lapsed: until its grace is over", () =>
    expect(each((jitter) => heldDelayS({ ...at, jitter, heldUntilMs: t0 - 60_000 }))).toEqual([2, 3, 4]));

  test("at a claim without a readable end: as if it were held anew", () => {
    expect(heldDelayS(at)).toBe(32);
    expect(heldDelayS({ ...at, heldUntilMs: Number.NaN })).toBe(32);
  });

  test("refused as a late copy of an old claim: 0–2 s", () =>
    expect(each((jitter) => heldDelayS({ ...at, jitter, heldUntilMs: t0 + 10_000, lateCopy: true }))).toEqual([
      0, 1, 2,
    ]));

  test("too early after a requeue: until then", () => {
    expect(each((jitter) => notYetDelayS({ ...at, jitter, notBeforeMs: t0 + 9_001 }))).toEqual([10, 10, 10]);
    expect(notYetDelayS({ ...at, notBeforeMs: t0 - 1 })).toBe(0);
  });

  test("after something unexpected: 5–15 s", () =>
    expect(each((jitter) => againDelayS({ ...at, jitter }))).toEqual([5, 10, 15]));

  test("not begun: 0–2 s", () => expect(each((jitter) => notBegunDelayS({ ...at, jitter }))).toEqual([0, 1, 2]));
});

describe("whatever the rows, headers and clocks say", () => {
  const hostile = fc.oneof(
    fc.double(),
    fc.integer(),
    fc.constantFrom(0, -0, -1, Number.NaN, Infinity, -Infinity, Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53),
  );
  const maybe = fc.option(hostile, { nil: undefined });
  const facts = fc.record({
    lane: fc.constantFrom("rt", "bg", "bulk"),
    receives: hostile,
    deadlineLeftMs: hostile,
    sinceReceiveMs: hostile,
    jitter: hostile,
    cause: fc.constantFrom("capacity", "paused", "budget", "quota", "transient"),
    requeues: hostile,
    releases: hostile,
    nowMs: hostile,
    notBeforeMs: hostile,
    heartbeatSeconds: maybe,
    knownWaitMs: maybe,
    heldUntilMs: maybe,
  });
  const given = ({
    heartbeatSeconds,
    knownWaitMs,
    heldUntilMs,
    ...rest
  }: typeof facts extends fc.Arbitrary<infer F> ? F : never) => ({
    ...rest,
    ...(heartbeatSeconds === undefined ? {} : { heartbeatSeconds }),
    ...(knownWaitMs === undefined ? {} : { knownWaitMs }),
    ...(heldUntilMs === undefined ? {} : { heldUntilMs }),
  });

  test("a delay is whole seconds that SQS takes, and below a task token's heartbeat", () =>
    fc.assert(
      fc.property(facts, (hostiles) => {
        const at = given(hostiles);
        const release = releaseNext(at);
        const delays = [
          requeueDelayS(at),
          heldDelayS(at),
          heldDelayS({ ...at, lateCopy: true }),
          notYetDelayS(at),
          againDelayS(at),
          notBegunDelayS(at),
          release.kind === "release" ? release.delayS : 0,
        ];
        const passedS = Number.isFinite(at.sinceReceiveMs) ? Math.max(0, at.sinceReceiveMs) / 1_000 : 0;
        const heartbeatS = Number.isFinite(at.heartbeatSeconds) ? Math.max(at.heartbeatSeconds ?? 0, 1) : Infinity;
        for (const delayS of delays) {
          expect(Number.isSafeInteger(delayS)).toBe(true);
          expect(delayS).toBeGreaterThanOrEqual(0);
          expect(delayS).toBeLessThanOrEqual(Math.max(0, 43_200 - passedS));
          expect(delayS).toBeLessThan(heartbeatS);
        }
      }),
      { numRuns: 2_000 },
    ));

  test("a requeue never sleeps past the deadline", () =>
    fc.assert(
      fc.property(facts, (hostiles) => {
        const at = given(hostiles);
        fc.pre(Number.isFinite(at.deadlineLeftMs));
        expect(requeueDelayS(at) * 1_000).toBeLessThanOrEqual(Math.max(0, at.deadlineLeftMs));
      }),
      { numRuns: 2_000 },
    ));
});

describe("a plan is paused", () => {
  test.each<[says: string, until: readonly (number | undefined)[], forMs: number]>([
    ["until its earliest step is free", [t0 + 9_000, t0 + 4_000], 4_000],
    ["not at all while one step was never paused", [t0 + 9_000, undefined], 0],
    ["not at all once a pause is over", [t0 + 9_000, t0 - 1], 0],
  ])("%s", (_says, until, forMs) => expect(pausedForMs(until, t0)).toBe(forMs));

  const steps = { pausedMs: 1, lanePaused: false };
  const lane = { pausedMs: 1, lanePaused: true };
  const none = { pausedMs: 0, lanePaused: false };
  test.each<[says: string, ...at: Parameters<typeof mayWaitUnclaimed>, may: boolean]>([
    ["a paused bg job waits without a claim", "bg", steps, 10_001, true],
    ["so does a bulk job", "bulk", steps, 10_001, true],
    ["an rt job does not", "rt", steps, 10_001, false],
    ["unless its whole lane is paused", "rt", lane, 10_001, true],
    ["nor does any without a pause", "bg", none, 10_001, false],
    ["nor one that is near its deadline, for it must be answered", "bg", steps, 10_000, false],
    ["be its lane paused or not", "rt", lane, 10_000, false],
  ])("%s", (_says, ...[of, pause, deadlineLeftMs, may]) =>
    expect(mayWaitUnclaimed(of, pause, deadlineLeftMs)).toBe(may),
  );
});
