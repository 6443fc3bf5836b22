import { describe, expect, test } from "vitest";
import {
  afterComplete,
  afterExtend,
  afterGiveBack,
  crashesOf,
  noProgress,
  releaseVerdict,
  storable,
  verdict,
} from "../../lib/core/claim.ts";
import type { Claim, ClaimAsk, JobRow, Verdict } from "../../lib/core/claim.ts";
import { claimGraceMs, holdMs } from "../../lib/core/limits.ts";
import { a, t0 } from "../a.ts";

const claim: Claim = { jobId: "order-8812-summary", holder: "holder-1", fence: 1 };
const reply = '{"ok":true}';
const others: Partial<JobRow> = { holder: "holder-2" };

describe("a claim that was taken", () => {
  type Ours = Extract<Verdict, { readonly claim: Claim }>["kind"];
  const rows: [says: string, row: Partial<JobRow>, ask: Partial<ClaimAsk>, kind: Ours][] = [
    ["runs", {}, {}, "run"],
    ["of a job that was cancelled is there to reply so", { cancelAsked: true }, {}, "cancelled"],
    ["after the deadline has nothing to run", {}, { deadlineAtMs: t0 }, "expired"],
    ["runs a millisecond before the deadline", {}, { deadlineAtMs: t0 + 1 }, "run"],
    ["of a job that crashed four times runs", { fence: 5 }, {}, "run"],
    ["of a job that crashed five times runs no more", { fence: 6 }, {}, "poisoned"],
    ["counts no claim that was given back as a crash", { fence: 100, givenBack: 95 }, {}, "run"],
    ["asks cancel before deadline", { cancelAsked: true }, { deadlineAtMs: t0 }, "cancelled"],
    ["asks deadline before crashes", { fence: 6 }, { deadlineAtMs: t0 }, "expired"],
  ];
  test.each(rows)("%s", (_says, facts, askFacts, kind) => {
    const row = a.row(facts);
    expect(verdict({ kind: "taken", row }, a.claimAsk(askFacts), t0)).toMatchObject({
      kind,
      claim: { ...claim, fence: row.fence },
      row,
    });
  });

  test("is judged by the time at which the answer came, because the deadline may pass on the wire", () => {
    const late = verdict({ kind: "taken", row: a.row() }, a.claimAsk({ deadlineAtMs: t0 + 5 }), t0 + 5);
    expect(late.kind).toBe("expired");
  });

  test("tells how often the job crashed", () => {
    const row = a.row({ fence: 7, givenBack: 4 });
    expect(verdict({ kind: "taken", row }, a.claimAsk(), t0)).toMatchObject({ kind: "run", crashes: 2 });
  });
});

describe("a claim that was refused", () => {
  const rows: [says: string, row: Partial<JobRow>, verdict: Verdict][] = [
    ["by other content is a conflict", { contentHash: "h-2" }, { kind: "conflict" }],
    ["by a newer format waits for a newer worker", { format: 2 }, { kind: "newer", format: 2 }],
    ["by another's claim waits for its end", others, { kind: "held", heldUntilMs: t0 + holdMs }],
    [
      "within the grace after another's claim is refused by it still",
      { ...others, heldUntilMs: t0 - claimGraceMs },
      { kind: "held", heldUntilMs: t0 - claimGraceMs },
    ],
    [
      "by a requeue waits for its time",
      { state: "queued", notBeforeMs: t0 + 1 },
      { kind: "not-yet", notBeforeMs: t0 + 1 },
    ],
    ["by a claim just as late comes again", { state: "queued", notBeforeMs: t0 }, { kind: "again", why: "late-copy" }],
    ["asks content before format", { contentHash: "h-2", format: 2 }, { kind: "conflict" }],
    ["asks content before the reply", { contentHash: "h-2", reply }, { kind: "conflict" }],
    ["asks format before the reply", { format: 2, reply }, { kind: "newer", format: 2 }],
    [
      "asks who holds it before its time",
      { ...others, notBeforeMs: t0 + 1 },
      { kind: "held", heldUntilMs: t0 + holdMs },
    ],
  ];
  test.each(rows)("%s", (_says, facts, expected) => {
    expect(verdict({ kind: "refused", row: a.row(facts) }, a.claimAsk(), t0)).toEqual(expected);
  });

  test("by a final reply is done, with the reply", () => {
    const row = a.row({ state: "ended", reply });
    expect(verdict({ kind: "refused", row }, a.claimAsk(), t0)).toEqual({ kind: "done", row });
  });

  test("by a tombstone that knows no content is done", () => {
    const { contentHash: _, ...row } = a.row({ state: "ended", reply });
    expect(verdict({ kind: "refused", row }, a.claimAsk(), t0)).toEqual({ kind: "done", row });
  });

  test("by a running row that does not say until when is held for good", () => {
    const { heldUntilMs: _, ...row } = a.row(others);
    expect(verdict({ kind: "refused", row }, a.claimAsk({ nowMs: t0 + 1e12 }), t0 + 1e12)).toEqual({ kind: "held" });
  });

  test("by a row that went meanwhile comes again", () => {
    expect(verdict({ kind: "refused", row: undefined }, a.claimAsk(), t0)).toEqual({ kind: "again", why: "lost-row" });
  });

  test("by its own success is ours", () => {
    expect(verdict({ kind: "refused", row: a.row() }, a.claimAsk(), t0)).toMatchObject({ kind: "run", claim });
    expect(verdict({ kind: "refused", row: a.row({ cancelAsked: true }) }, a.claimAsk(), t0).kind).toBe("cancelled");
  });

  test("is not ours because we once held it", () => {
    const row = a.row({ state: "queued", notBeforeMs: t0 });
    expect(verdict({ kind: "refused", row }, a.claimAsk(), t0)).toEqual({ kind: "again", why: "late-copy" });
  });
});

describe("a release that was", () => {
  const rows: [says: string, row: Partial<JobRow> | undefined, expected: object][] = [
    ["refused by its own first copy counts", { state: "queued", releases: 3 }, { kind: "counted", releases: 3 }],
    [
      "refused by a requeue that is not due counts",
      { state: "queued", releases: 3, notBeforeMs: t0 + 1 },
      { kind: "counted" },
    ],
    ["refused by a row that went counts as the first", undefined, { kind: "counted", releases: 1 }],
    ["refused by a claim is held", others, { kind: "held", heldUntilMs: t0 + holdMs }],
    ["refused by the reply is done", { reply }, { kind: "done" }],
    ["refused by other content is a conflict", { contentHash: "h-2" }, { kind: "conflict" }],
    ["refused by a newer format waits for a newer worker", { format: 2 }, { kind: "newer" }],
  ];
  test.each(rows)("%s", (_says, facts, expected) => {
    const row = facts === undefined ? undefined : a.row(facts);
    expect(releaseVerdict({ kind: "refused", row }, a.claimAsk())).toMatchObject(expected);
  });
});

describe("a write that the row refused its holder", () => {
  const rows: [says: string, row: Partial<JobRow>, extend: string, giveBack: string, complete: string][] = [
    ["ours still", {}, "owned", "cancelled", "lost"],
    ["given back by us", { state: "queued" }, "lost", "given-back", "lost"],
    ["given back by the next", { state: "queued", fence: 2, holder: "holder-2" }, "lost", "lost", "lost"],
    ["overtaken", { fence: 2, holder: "holder-2" }, "lost", "lost", "lost"],
    ["overtaken by one of our name", { fence: 2 }, "lost", "lost", "lost"],
    ["ended with our reply", { state: "ended", reply }, "lost", "done", "stored"],
    ["ended with another's reply", { state: "ended", reply: "another" }, "lost", "done", "done"],
  ];
  test.each(rows)("%s", (_says, facts, extend, giveBack, complete) => {
    const row = a.row(facts);
    expect(afterExtend(row, claim)).toEqual({ kind: extend, row });
    expect(afterGiveBack(row, claim).kind).toBe(giveBack);
    expect(afterComplete(row, reply)).toBe(complete);
  });

  test("because it is gone: nothing is ours", () => {
    expect(afterExtend(undefined, claim)).toEqual({ kind: "lost", row: undefined });
    expect(afterGiveBack(undefined, claim).kind).toBe("lost");
    expect(afterComplete(undefined, reply)).toBe("lost");
  });
});

test("crashes are never fewer than none, whatever a row says", () => {
  expect(crashesOf({ fence: 0, givenBack: 0 })).toBe(0);
  expect(crashesOf({ fence: 3, givenBack: 9 })).toBe(0);
});

test("progress is storable whatever was counted, and carries nothing else", () => {
  const progress = {
    ...a.row(),
    ...noProgress,
    attempts: Number.NaN,
    sleptMs: 1.6,
    leaseWaitMs: -3,
    providerMs: Infinity,
  };
  expect(storable(progress)).toEqual({ ...noProgress, sleptMs: 2, providerMs: Number.MAX_SAFE_INTEGER });
});
