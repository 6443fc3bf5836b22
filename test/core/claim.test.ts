import { describe, expect, test } from "vitest";
import {
  afterComplete,
  afterExtend,
  afterGiveBack,
  afterStoreReply,
  crashesOf,
  moreOf,
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

  test("is ours whatever the row says of its holder", () => {
    const row = a.row({ holder: "?" });
    expect(verdict({ kind: "taken", row }, a.claimAsk(), t0)).toMatchObject({ kind: "run", claim });
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
    expect(verdict({ kind: "refused", row }, a.claimAsk({ nowMs: t0 + 1e12 }), t0 + 1e12)).toStrictEqual({
      kind: "held",
    });
  });

  test("by a requeue is not in the way of one who may come early", () => {
    const row = a.row({ state: "queued", notBeforeMs: t0 + 1 });
    const ask = a.claimAsk({ early: true });
    expect(verdict({ kind: "refused", row }, ask, t0)).toEqual({ kind: "again", why: "late-copy" });
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
    ["held under our fence by another name", others, "lost", "lost", "lost"],
    ["given back under our fence by another name", { ...others, state: "queued" }, "lost", "lost", "lost"],
    ["given back by one of our name", { fence: 2, state: "queued" }, "lost", "lost", "lost"],
    ["ended without a reply", { state: "ended" }, "lost", "lost", "lost"],
    ["answered, though it never ended", { reply }, "lost", "done", "stored"],
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

test("a release that a row without content refused counts: it tells of no other job", () => {
  const { contentHash: _, ...row } = a.row({ state: "queued", releases: 3 });
  expect(releaseVerdict({ kind: "refused", row }, a.claimAsk())).toEqual({ kind: "counted", releases: 3 });
});

describe("a reply out of the replies queue that was refused", () => {
  const { contentHash: _, ...unknown } = a.row({ state: "ended", reply });
  test.each<[says: string, row: JobRow | undefined, kind: string]>([
    ["by a row that went comes again", undefined, "again"],
    ["by a job that goes on comes again", a.row(), "again"],
    ["by other content is a conflict", a.row({ contentHash: "h-2" }), "conflict"],
    ["by other content with a reply too", a.row({ contentHash: "h-2", reply }), "conflict"],
    ["by a reply is done", a.row({ state: "ended", reply }), "done"],
    ["by a reply to nobody knows what is done too", unknown, "done"],
  ])("%s", (_says, row, kind) => expect(afterStoreReply(row, "h-1").kind).toBe(kind));
});

test("a job that nobody has touched has used up nothing", () => {
  const { usage, ...counts } = noProgress;
  expect(Object.values(counts)).toEqual(Array.from({ length: 9 }, () => 0));
  expect(Object.values(usage)).toEqual(Array.from({ length: 5 }, () => 0));
});

test("of two accounts of one job the higher of each count stands", () => {
  const one = { ...noProgress, attempts: 3, requeues: 1, usage: { ...noProgress.usage, inputTokens: 5 } };
  const other = { ...noProgress, attempts: 2, requeues: 4, usage: { ...noProgress.usage, outputTokens: 7 } };
  expect(moreOf(one, other)).toEqual({
    ...noProgress,
    attempts: 3,
    requeues: 4,
    usage: { ...noProgress.usage, inputTokens: 5, outputTokens: 7 },
  });
});
