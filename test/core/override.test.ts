import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../lib/core/json.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { laneCap, onRefused, pageCap, pageCount } from "../../lib/core/lease.ts";
import { cut, limitOf, raise } from "../../lib/core/limit.ts";
import {
  boundsUnder,
  availability,
  foreverMs,
  inOrder,
  isEndless,
  noOverrides,
  readLaneOverride,
  readLedgerOverride,
  readModelOverride,
  readOverrides,
} from "../../lib/core/override.ts";
import type { Availability, LaneOverride, LedgerOverride, Overrides } from "../../lib/core/override.ts";
import { a, t0 } from "../a.ts";

describe("an operator's row on a ledger", () => {
  const rows: [says: string, row: unknown, override: LedgerOverride, troubles?: string[]][] = [
    ["may hold nothing", {}, {}],
    ["may hold all there is", { limit: 5, pausedUntilMs: t0, out: true }, { limit: 5, pausedUntilMs: t0, out: true }],
    ["may hold numbers as text", { limit: " 5", pausedUntilMs: String(t0) }, { limit: 5, pausedUntilMs: t0 }],
    ["may say that the target is not out", { out: false }, {}],
    ["may end a pause with 0", { pausedUntilMs: 0 }, { pausedUntilMs: 0 }],
    ["lowers a limit to 1 at the lowest", { limit: 0 }, { limit: 1 }, ["limit is below 1"]],
    ["may hold a limit of 1", { limit: 1 }, { limit: 1 }],
    ["rounds a limit down", { limit: 2.9 }, { limit: 2 }, ["limit is no whole number"]],
    ["and one below 2 too, by its own word", { limit: 1.5 }, { limit: 1 }, ["limit is no whole number"]],
    ["knows no digits but plain ones", { limit: "0x5" }, {}, ["limit is no number"]],
    ["and no powers of ten", { limit: "5e3" }, {}, ["limit is no number"]],
    ["may pause from 1973 on", { pausedUntilMs: 1e11 }, { pausedUntilMs: 1e11 }],
    ["and until 5138", { pausedUntilMs: 1e14 }, { pausedUntilMs: 1e14 }],
    ["not a millisecond before", { pausedUntilMs: 1e11 - 1 }, {}, ["pausedUntilMs is no time in ms"]],
    ["nor after", { pausedUntilMs: 1e14 + 1 }, {}, ["pausedUntilMs is no time in ms"]],
    ["nor a millisecond after 1970 began", { pausedUntilMs: 1 }, {}, ["pausedUntilMs is no time in ms"]],
    [
      "with a limit that is no number keeps the others",
      { limit: "many", out: true },
      { out: true },
      ["limit is no number"],
    ],
    ["with a limit beyond all numbers keeps none", { limit: Infinity }, {}, ["limit is no number"]],
    [
      "with a pause in seconds pauses nothing, and says so",
      { pausedUntilMs: t0 / 1_000 },
      {},
      ["pausedUntilMs is no time in ms"],
    ],
    [
      "with a pause in microseconds does not pause for ever, and says so",
      { pausedUntilMs: t0 * 1_000 },
      {},
      ["pausedUntilMs is no time in ms"],
    ],
    ["with a pause that is no time pauses nothing", { pausedUntilMs: "tomorrow" }, {}, ["pausedUntilMs is no time"]],
    ["with a negative time pauses nothing", { pausedUntilMs: -1 }, {}, ["pausedUntilMs is no time"]],
    ["takes nothing out for a word", { out: "yes" }, {}, ["out is neither true nor false"]],
    ["names a field that nobody knows", { limt: 5 }, {}, ["limt is not known"]],
    ["knows no field that all objects have", { toString: 5 }, {}, ["toString is not known"]],
    ["keeps a name that nobody knows short", { ["x".repeat(99)]: 5 }, {}, [`${"x".repeat(64)} is not known`]],
    ["has nothing in a field without a value", { limit: undefined, limt: undefined }, {}],
    ["that is no object says nothing", [5], {}, ["the row is no object"]],
    ["that is nothing says nothing", null, {}, ["the row is no object"]],
  ];
  test.each(rows)("%s", (_says, row, override, troubles = []) =>
    expect(readLedgerOverride(row)).toStrictEqual({ override, troubles }),
  );

  test("never breaks a worker, and never holds what a worker cannot use", () => {
    const anyRow = fc.oneof(
      fc.anything(),
      fc.record({ limit: fc.anything(), pausedUntilMs: fc.anything(), out: fc.anything() }, { requiredKeys: [] }),
      fc.record({ limit: fc.double(), pausedUntilMs: fc.double() }),
    );
    fc.assert(
      fc.property(anyRow, (row) => {
        const { override } = readLedgerOverride(row);
        const { limit = 1, pausedUntilMs = 0 } = override;
        expect(Number.isInteger(limit) && limit >= 1).toBe(true);
        expect(pausedUntilMs).toBeGreaterThanOrEqual(0);
        expect([true, undefined]).toContain(override.out);
        readLaneOverride(row);
        readModelOverride(row, () => true);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("an operator's row on a lane", () => {
  test("may pause it", () =>
    expect(readLaneOverride({ pausedUntilMs: t0 })).toEqual({ override: { pausedUntilMs: t0 }, troubles: [] }));
  test.each<[says: string, budgetUsd: Json, read: LaneOverride, troubles: string[]]>([
    ["may give it another budget", 75.5, { budgetUsd: 75.5 }, []],
    ["as text too", "75.5", { budgetUsd: 75.5 }, []],
    ["or none at all", 0, { budgetUsd: 0 }, []],
    ["may not give it less", -1, {}, ["budgetUsd is no amount"]],
    ["nor what is no number", "plenty", {}, ["budgetUsd is no amount"]],
  ])("%s", (_says, budgetUsd, override, troubles) =>
    expect(readLaneOverride({ budgetUsd })).toEqual({ override, troubles }),
  );
  test("may not limit it", () =>
    expect(readLaneOverride({ limit: 5 })).toEqual({ override: {}, troubles: ["limit is not known"] }));
});

describe("an operator's row on a model", () => {
  const isKnown = (name: string) => ["m", "m@a", "m@b"].includes(name);
  test.each<[says: string, row: unknown, chain: string[] | undefined, troubles: string[]]>([
    ["may order its chain", { chain: ["m@b", "m"] }, ["m@b", "m"], []],
    ["orders what it names rightly", { chain: ["m@b", "m@c", 5] }, ["m@b"], ["chain names what is not configured"]],
    ["orders nothing with what is no list", { chain: "m@b" }, undefined, ["chain is no list"]],
  ])("%s", (_says, row, chain, troubles) =>
    expect(readModelOverride(row, isKnown)).toEqual({ override: chain === undefined ? {} : { chain }, troubles }),
  );
});

test("all words together are each taken for what they are, and what cannot be understood is told by what it is about", () => {
  const written = {
    ledgers: new Map<string, Json>([
      ["fast@west", { limit: "5", out: "yes" }],
      ["fast@east", { puased: 1, limit: 0.5 }], // a map's order is the table's: the word is the same each time
    ]),
    lanes: new Map<Lane, Json>([["bulk", { pausedUntilMs: t0 }]]),
    models: new Map<string, Json>([["fast", { chain: ["smart", "gone"] }]]),
  };
  expect(readOverrides(written, (name) => name === "smart")).toEqual({
    overrides: {
      ledgers: new Map([
        ["fast@west", { limit: 5 }],
        ["fast@east", { limit: 1 }],
      ]),
      lanes: new Map([["bulk", { pausedUntilMs: t0 }]]),
      models: new Map([["fast", { chain: ["smart"] }]]),
    },
    troubles: new Map([
      ["ledger fast@west", "out is neither true nor false"],
      ["ledger fast@east", "limit is below 1, puased is not known"],
      ["model fast", "chain names what is not configured"],
    ]),
  });
});

describe("what operators let a job do", () => {
  const said = (facts: Partial<Overrides>): Overrides => ({ ...noOverrides, ...facts });
  const ledgers = (...entries: [string, LedgerOverride][]) => new Map(entries);
  const later = t0 + 60_000;
  const rows: [says: string, overrides: Overrides, availability: Availability][] = [
    ["is all, while they say nothing", noOverrides, { kind: "in" }],
    ["is all, with a limit", said({ ledgers: ledgers(["m@a", { limit: 1 }]) }), { kind: "in" }],
    ["is nothing on a target that is out", said({ ledgers: ledgers(["m@a", { out: true }]) }), { kind: "out" }],
    ["is nothing in a group that is out", said({ ledgers: ledgers(["group", { out: true }]) }), { kind: "out" }],
    ["is all where another target is out", said({ ledgers: ledgers(["m@b", { out: true }]) }), { kind: "in" }],
    [
      "is to wait for a paused target",
      said({ ledgers: ledgers(["m@a", { pausedUntilMs: later }]) }),
      { kind: "paused", untilMs: later },
    ],
    [
      "is to wait in a paused lane",
      said({ lanes: new Map([["bg", { pausedUntilMs: later }]]) }),
      { kind: "paused", untilMs: later },
    ],
    [
      "is all where another lane is paused",
      said({ lanes: new Map([["rt", { pausedUntilMs: later }]]) }),
      { kind: "in" },
    ],
    ["is all from the very end of a pause", said({ ledgers: ledgers(["m@a", { pausedUntilMs: t0 }]) }), { kind: "in" }],
    [
      "is to wait for the longest of several pauses",
      said({
        ledgers: ledgers(["m@a", { pausedUntilMs: t0 + 1 }], ["group", { pausedUntilMs: later }]),
        lanes: new Map([["bg", { pausedUntilMs: t0 + 2 }]]),
      }),
      { kind: "paused", untilMs: later },
    ],
    [
      "is nothing where it is out and paused",
      said({ ledgers: ledgers(["m@a", { out: true, pausedUntilMs: later }]) }),
      { kind: "out" },
    ],
  ];
  test.each(rows)("%s", (_says, overrides, answer) =>
    expect(availability(["m@a", "group"], "bg", overrides, t0)).toEqual(answer),
  );
});

describe("a limit under an override", () => {
  const bounds = { limitStart: 20, limitMax: 60 };
  test.each([
    ["is the override where that is lowest", 40, 5, 5],
    ["is the override below the start", undefined, 5, 5],
    ["is what was learned where that is lowest", 12, 30, 12],
    ["is the configured maximum where that is lowest", 99, 80, 60],
    ["is as learned without one", 40, undefined, 40],
  ])("%s", (_says, lim, limit, inForce) => {
    const head = lim === undefined ? undefined : { lim };
    const override = limit === undefined ? undefined : { limit };
    expect(limitOf(head, boundsUnder(bounds, override))).toBe(inForce);
  });

  test("does not rise above it, and keeps what was learned for when it goes", () =>
    expect(raise({ lim: 40 }, boundsUnder(bounds, { limit: 5 }), 5, t0)).toBeUndefined());
  test("is cut from what is in force", () =>
    expect(cut({ lim: 40 }, boundsUnder(bounds, { limit: 10 }), t0)).toMatchObject({ lim: 9, cutFrom: 10 }));

  test("that is lower than what is out admits nobody until it fits", () => {
    const under = boundsUnder(bounds, { limit: 5 });
    const pages = pageCount(bounds.limitMax);
    const cap = pageCap(laneCap(limitOf({ lim: 40 }, under), 1), 0, pages);
    const page = (out: number) => Object.fromEntries(Array.from({ length: out }, (_, index) => [`x${index}`, t0 + 9]));
    expect(pages).toBe(2);
    for (const out of [20, 4, 3]) expect(onRefused(page(out), ["a"], cap, t0)).toEqual({ kind: "full" });
    expect(onRefused(page(2), ["a"], cap, t0)).toEqual({ kind: "shrink", room: 1 });
  });
});

describe("an operator's order", () => {
  const step = (name: string) => a.step({ name, model: name.split("@")[0] ?? name });
  const steps = ["m@a", "m@b", "n@a", "n@b"].map(step);
  const rows: [says: string, chain: string[] | undefined, pinned: boolean, order: string[]][] = [
    ["changes nothing where there is none", undefined, false, ["m@a", "m@b", "n@a", "n@b"]],
    ["puts what it names first, and the others behind as they were", ["n@b"], false, ["n@b", "m@a", "m@b", "n@a"]],
    ["names a model for all its targets", ["n", "m@b"], false, ["n@a", "n@b", "m@b", "m@a"]],
    ["puts a target where it is named first", ["n@b", "n"], false, ["n@b", "n@a", "m@a", "m@b"]],
    ["adds no step that the job may not take", ["z@a", "m@b"], false, ["m@b", "m@a", "n@a", "n@b"]],
    ["leaves a target first that the job has named", ["n@b", "m@b"], true, ["m@a", "n@b", "m@b", "n@a"]],
  ];
  test.each(rows)("%s", (_says, chain, pinned, order) =>
    expect(inOrder(steps, chain && { chain }, pinned).map(({ name }) => name)).toEqual(order),
  );

  test("never drops or doubles a step", () => {
    const anyChain = fc.array(fc.constantFrom("m", "n", "m@a", "m@b", "n@a", "n@b", "z"));
    fc.assert(
      fc.property(anyChain, fc.boolean(), (chain, pinned) => {
        expect(new Set(inOrder(steps, { chain }, pinned))).toEqual(new Set(steps));
        expect(inOrder(steps, { chain }, pinned)).toHaveLength(steps.length);
      }),
    );
  });
});

test("a chain's step is a text, whatever is known", () =>
  expect(readModelOverride({ chain: [5, "fast-text"] }, () => true)).toEqual({
    override: { chain: ["fast-text"] },
    troubles: ["chain names what is not configured"],
  }));

describe("a pause", () => {
  const tenYearsMs = 10 * 365 * 86_400_000;

  test.each<[says: string, untilMs: number, endless: boolean]>([
    ["without an end stands until it is taken back", foreverMs, true],
    ["of more than ten years was meant to have no end", t0 + tenYearsMs + 1, true],
    ["of ten years ends", t0 + tenYearsMs, false],
  ])("%s", (_says, untilMs, endless) => expect(isEndless(untilMs, t0)).toBe(endless));

  test("without an end is a time that is understood", () =>
    expect(readLaneOverride({ pausedUntilMs: foreverMs }).troubles).toEqual([]));
});
