import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Attempted } from "../../lib/core/attempt.ts";
import {
  afterAttempt,
  allows,
  failuresMax,
  isProbe,
  newsOf,
  onFailure,
  onSuccess,
  probeLookMs,
  reopenMs,
  sameBreaker,
  takeProbe,
} from "../../lib/core/breaker.ts";
import type { Allows, Breaker, News } from "../../lib/core/breaker.ts";
import type { FailureKind } from "../../lib/core/failure.ts";
import { t0 } from "../a.ts";

const closed = (failures: number): Breaker => ({ kind: "closed", failures });
const openUntil = (openUntilMs: number): Breaker => ({ kind: "open", openUntilMs });
const probing = (id: string, expiresAtMs = t0 + 45_000): Breaker => ({ kind: "half-open", probe: { id, expiresAtMs } });
const halfOpen: Breaker = { kind: "half-open" };

const tried = { usage: noUsage, tookMs: 1 };
const answered: Attempted = { kind: "answered", output: {}, ...tried };
const failed = (kind: FailureKind): Attempted => ({ kind: "failed", failure: { kind, name: kind }, ...tried });
const cut: Attempted = { kind: "cut", by: "cancelled", ...tried };

describe("whether an attempt may go", () => {
  const rows: [says: string, seen: Breaker | undefined, allowed: Allows][] = [
    ["yes, while nothing was written", undefined, { kind: "yes" }],
    ["yes, while failures are too few in a row", closed(4), { kind: "yes" }],
    ["no, while it is open", openUntil(t0 + 1), { kind: "no", untilMs: t0 + 1 }],
    ["as a probe, from the very end of the opening", openUntil(t0), { kind: "probe" }],
    ["no, while a probe is under way: look again in a moment", probing("p"), { kind: "no", untilMs: t0 + 5_000 }],
    [
      "no, and look again when the probe lapses if that is sooner",
      probing("p", t0 + 1),
      { kind: "no", untilMs: t0 + 1 },
    ],
    ["as a probe, when the last one has lapsed", probing("p", t0), { kind: "probe" }],
    ["as a probe, when the last one learned nothing", halfOpen, { kind: "probe" }],
  ];
  test.each(rows)("%s", (_says, seen, allowed) => expect(allows(seen, t0)).toEqual(allowed));
});

describe("taking the probe", () => {
  const rows: [says: string, seen: Breaker | undefined, next: Breaker | undefined][] = [
    ["is for nobody while it is closed", closed(4), undefined],
    ["is for nobody while it is open", openUntil(t0 + 1), undefined],
    ["is for one when the opening is over", openUntil(t0), probing("b")],
    ["is for nobody while another probes", probing("a"), undefined],
    ["goes to the next when the last one has lapsed", probing("a", t0), probing("b")],
    ["goes to the next when the last one learned nothing", halfOpen, probing("b")],
  ];
  test.each(rows)("%s", (_says, seen, next) => expect(takeProbe(seen, "b", t0, t0 + 45_000)).toEqual(next));

  test.each([
    ["ours in the row that refused is taken", probing("b"), true],
    ["another's is not", probing("a"), false],
    ["nobody's is not", halfOpen, false],
    ["an open one is not", openUntil(t0), false],
    ["none at all is not", undefined, false],
  ])("%s", (_says, seen, ours) => expect(isProbe(seen, "b")).toBe(ours));
});

describe("after an attempt", () => {
  const broken = failed("transient");
  const rows: [says: string, seen: Breaker | undefined, attempted: Attempted | undefined, next: Breaker | undefined][] =
    [
      ["a first failure is counted", undefined, broken, closed(1)],
      ["so is one after a success", closed(0), broken, closed(1)],
      ["the fourth in a row leaves it closed", closed(3), broken, closed(4)],
      ["the fifth opens it for 30 s", closed(4), broken, openUntil(t0 + 30_000)],
      ["a success after failures forgets them", closed(4), answered, closed(0)],
      ["a success after none writes nothing", closed(0), answered, undefined],
      ["a success where nothing was written writes nothing", undefined, answered, undefined],
      ["what says nothing of the target leaves the failures in a row", closed(4), cut, undefined],

      ["a failure that began before it opened moves nothing", openUntil(t0 + 9), broken, undefined],
      ["nor does it when the opening is over", openUntil(t0), broken, undefined],
      ["a success that began before it opened does not close it", openUntil(t0 + 9), answered, undefined],
      ["nor does it when the opening is over", openUntil(t0), answered, undefined],

      ["a probe that fails opens it for 60 s", probing("b"), broken, openUntil(t0 + 60_000)],
      ["a probe that succeeds closes it", probing("b"), answered, closed(0)],
      ["a probe that was throttled leaves its place to the next", probing("b"), failed("throttled"), halfOpen],
      ["a probe that was cut leaves its place to the next", probing("b"), cut, halfOpen],
      ["a probe that was never sent leaves its place to the next", probing("b"), undefined, halfOpen],
      ["a lapsed probe that fails has still learned it", probing("b", t0 - 1), broken, openUntil(t0 + 60_000)],
      ["a lapsed probe that succeeds has still learned it", probing("b", t0 - 1), answered, closed(0)],

      ["a stale failure does not decide for a newer probe", probing("a"), broken, undefined],
      ["a stale success does not decide for a newer probe", probing("a"), answered, undefined],
      ["a stale attempt that says nothing does not free a newer probe", probing("a"), cut, undefined],
      ["a stale attempt does not decide while no probe is under way", halfOpen, answered, undefined],
    ];
  test.each(rows)("%s", (_says, seen, attempted, next) => expect(afterAttempt(seen, "b", attempted, t0)).toEqual(next));
});

describe("what an attempt says of its target", () => {
  const rows: [says: string, attempted: Attempted | undefined, news: News][] = [
    ["an answer is a success", answered, "success"],
    ["a transient failure is a failure", failed("transient"), "failure"],
    ["a hang is a failure", failed("hung"), "failure"],
    ["a throttle is nothing", failed("throttled"), "neutral"],
    ["a spent day is nothing", failed("daily"), "neutral"],
    ["a model that is not ready is nothing", failed("not-ready"), "neutral"],
    ["a target that refuses is nothing", failed("target"), "neutral"],
    ["a prompt that is too long is nothing", failed("context"), "neutral"],
    ["a bad request is nothing", failed("fatal"), "neutral"],
    ["a cut of ours is nothing", cut, "neutral"],
    ["a lost lease is nothing", { kind: "cut", by: "lease-lost", ...tried }, "neutral"],
    ["a request that was never sent is nothing", undefined, "neutral"],
  ];
  test.each(rows)("%s", (_says, attempted, news) => expect(newsOf(attempted)).toBe(news));
});

describe("two breakers", () => {
  const all = [
    closed(0),
    closed(1),
    openUntil(1),
    openUntil(2),
    halfOpen,
    probing("a", 1),
    probing("b", 1),
    probing("a", 2),
  ];
  test("are the same when all they say is", () => {
    for (const a of all) for (const b of all) expect(sameBreaker({ ...a }, b)).toBe(a === b);
  });
  test("are the same when one was never written and the other has no failure", () =>
    expect(sameBreaker(undefined, closed(0))).toBe(true));
});

// A small world: a few attempts at a time, every one of which may end in every way, at any time, or never.

const probeMs = 20_000;
const attemptsMax = 4;

interface Running {
  readonly id: string;
  /** Of the probe that it has taken. */
  readonly expiresAtMs?: number;
}
interface Small {
  readonly breaker: Breaker | undefined;
  readonly nowMs: number;
  readonly running: readonly Running[];
  readonly nextId: number;
}
type Move =
  | { readonly kind: "begin" }
  | { readonly kind: "end"; readonly index: number; readonly attempted: Attempted | undefined }
  | { readonly kind: "crash"; readonly index: number }
  | { readonly kind: "pass"; readonly ms: number };

function after(world: Small, move: Move): Small {
  const { breaker, nowMs, running, nextId } = world;
  switch (move.kind) {
    case "begin": {
      const id = `a${nextId}`;
      const allowed = allows(breaker, nowMs);
      if (allowed.kind === "no" || running.length >= attemptsMax) return world;
      if (allowed.kind === "yes") return { ...world, running: [...running, { id }], nextId: nextId + 1 };
      const expiresAtMs = nowMs + probeMs;
      return {
        ...world,
        breaker: takeProbe(breaker, id, nowMs, expiresAtMs),
        running: [...running, { id, expiresAtMs }],
        nextId: nextId + 1,
      };
    }
    case "end": {
      const id = running[move.index]?.id;
      if (id === undefined) return world;
      const next = afterAttempt(breaker, id, move.attempted, nowMs) ?? breaker;
      return { ...world, breaker: next, running: running.filter((one) => one.id !== id) };
    }
    case "crash":
      return { ...world, running: running.toSpliced(move.index, 1) };
    case "pass":
      return { ...world, nowMs: nowMs + move.ms };
  }
}

type Holds = (now: Small, before: Small, move: Move) => boolean;

/** The attempt that a move ends. */
const endedBy = (move: Move, before: Small) => (move.kind === "end" ? before.running[move.index] : undefined);
const leftMs = (untilMs: number | undefined, { nowMs }: Small) => Math.max(0, (untilMs ?? 0) - nowMs);

/** What holds after every move, whatever it was. */
const promises: readonly (readonly [says: string, holds: Holds])[] = [
  [
    "there are never two live probes",
    (now) => now.running.filter((one) => leftMs(one.expiresAtMs, now) > 0).length < 2,
  ],
  [
    "a live probe is the breaker's",
    (now) => now.running.every((one) => leftMs(one.expiresAtMs, now) === 0 || isProbe(now.breaker, one.id)),
  ],
  ["whoever crashed, it ends by itself", ({ breaker, nowMs }) => allows(breaker, nowMs + reopenMs).kind !== "no"],
  [
    "a probe never outlives its expiry",
    ({ breaker, nowMs }) => breaker?.kind !== "half-open" || allows(breaker, nowMs + probeMs).kind === "probe",
  ],
  [
    "whoever is sent away is told a time to come, and none too far",
    ({ breaker, nowMs }) => {
      const allowed = allows(breaker, nowMs);
      const untilMsMax = nowMs + (breaker?.kind === "open" ? reopenMs : probeLookMs);
      return allowed.kind !== "no" || (allowed.untilMs > nowMs && allowed.untilMs <= untilMsMax);
    },
  ],
  [
    "one that is not closed lets nobody by without a probe",
    ({ breaker, nowMs }) => isClosed(breaker) === (allows(breaker, nowMs).kind === "yes"),
  ],
  [
    "no attempt's end moves an open one",
    (now, before, move) => move.kind !== "end" || before.breaker?.kind !== "open" || now.breaker === before.breaker,
  ],
  [
    "none but its probe decides for a half-open one",
    (now, before, move) => {
      const ended = endedBy(move, before);
      if (before.breaker?.kind !== "half-open" || move.kind !== "end" || ended === undefined) return true;
      if (!isProbe(before.breaker, ended.id)) return now.breaker === before.breaker;
      const kindAfter = { success: "closed", failure: "open", neutral: "half-open" } as const;
      return now.breaker?.kind === kindAfter[newsOf(move.attempted)] && !isProbe(now.breaker, ended.id);
    },
  ],
  [
    "a success forgets the failures of a closed one",
    (now, before, move) =>
      endedBy(move, before) === undefined ||
      (move.kind === "end" && newsOf(move.attempted) !== "success") ||
      !isClosed(before.breaker) ||
      sameBreaker(now.breaker, closed(0)),
  ],
];

function isClosed(breaker: Breaker | undefined): boolean {
  return breaker === undefined || breaker.kind === "closed";
}

function brokenPromises(now: Small, before: Small, move: Move): string[] {
  return promises.flatMap(([says, holds]) => (holds(now, before, move) ? [] : [says]));
}

const endings = [answered, failed("hung"), cut] as const;

describe("a breaker in a small world", () => {
  test("keeps its promises in every state that four attempts can bring about", () => {
    const moves: Move[] = [{ kind: "begin" }, { kind: "pass", ms: 5_000 }];
    for (let index = 0; index < attemptsMax; index++) {
      moves.push({ kind: "crash", index }, ...endings.map((attempted) => ({ kind: "end", index, attempted }) as const));
    }
    const seen = new Set<string>();
    const kinds = new Set<string>();
    const left: Small[] = [{ breaker: undefined, nowMs: t0, running: [], nextId: 0 }];
    for (let world = left.pop(); world !== undefined; world = left.pop()) {
      for (const move of moves) {
        const next = after(world, move);
        expect(brokenPromises(next, world, move)).toEqual([]);
        const key = shapeOf(next);
        if (seen.has(key)) continue;
        seen.add(key);
        kinds.add(next.breaker?.kind ?? "none");
        left.push(next);
      }
    }
    expect(kinds).toEqual(new Set(["none", "closed", "open", "half-open"]));
    expect(seen.size).toBeGreaterThan(100);
  });

  test("keeps them at any times", () => {
    const anyMove: fc.Arbitrary<Move> = fc.oneof(
      fc.constant<Move>({ kind: "begin" }),
      fc.record({ kind: fc.constant("end"), index: fc.nat(3), attempted: fc.constantFrom(...endings, undefined) }),
      fc.record({ kind: fc.constant("crash"), index: fc.nat(3) }),
      fc.record({ kind: fc.constant("pass"), ms: fc.nat(40_000) }),
    );
    const starts = fc.constantFrom(undefined, closed(failuresMax - 1), openUntil(t0 + 30_000), halfOpen);
    fc.assert(
      fc.property(starts, fc.array(anyMove, { maxLength: 60 }), (breaker, moves) => {
        let world: Small = { breaker, nowMs: t0, running: [{ id: "old" }], nextId: 0 };
        for (const move of moves) {
          const next = after(world, move);
          expect(brokenPromises(next, world, move)).toEqual([]);
          world = next;
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("opens again and again for a minute while every probe fails, and closes with the first that does not", () => {
    let breaker: Breaker | undefined;
    for (let failure = 1; failure <= failuresMax; failure++) breaker = onFailure(breaker, "a", t0);
    let nowMs = t0 + 30_000;
    for (const probe of ["p1", "p2", "p3"]) {
      breaker = takeProbe(breaker, probe, nowMs, nowMs + probeMs);
      breaker = onFailure(breaker, probe, nowMs + 1);
      expect(breaker).toEqual(openUntil(nowMs + 60_001));
      nowMs += 60_001;
    }
    expect(onSuccess(takeProbe(breaker, "p4", nowMs, nowMs + probeMs), "p4")).toEqual(closed(0));
  });
});

/** A world without its date and its names: two of one shape have the same future. */
function shapeOf(world: Small): string {
  const { breaker, running } = world;
  const probe = breaker?.kind === "half-open" ? breaker.probe : undefined;
  return JSON.stringify([
    breaker?.kind,
    breaker?.kind === "closed" && breaker.failures,
    breaker?.kind === "open" && leftMs(breaker.openUntilMs, world),
    probe && [running.findIndex(({ id }) => id === probe.id), leftMs(probe.expiresAtMs, world)],
    running.map(({ expiresAtMs }) => leftMs(expiresAtMs, world)),
  ]);
}
