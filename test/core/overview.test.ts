import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import type { JobRow } from "../../lib/core/claim.ts";
import { leaseIdOf } from "../../lib/core/lease.ts";
import { overviewOf } from "../../lib/core/overview.ts";
import type { Seen } from "../../lib/core/overview.ts";
import { noOverrides } from "../../lib/core/override.ts";
import { a, t0 } from "../a.ts";

const target = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 4, max: 8 }, maxTokens: 100 };
const config = checkConfig({
  models: { fast: { targets: { west: target, east: { ...target, region: "us-east-1" } } } },
  global: { limitMax: 10 },
});
const quiet: Seen = {
  nowMs: t0,
  config,
  rows: [],
  missing: "none",
  pages: new Map(),
  heads: new Map(),
  breakers: new Map(),
  overrides: noOverrides,
  depths: {},
};
const row = (facts: Partial<JobRow> & Pick<JobRow, "jobId">): JobRow => a.bareRow(facts);
const running = (jobId: string, worker: string, step?: string) =>
  row({ jobId, worker, state: "running", heldUntilMs: t0 + 20_000, ...(step === undefined ? {} : { step }) });
const see = (facts: Partial<Seen> = {}) => overviewOf({ ...quiet, ...facts });
const ledger = (facts: Partial<Seen>, name = "fast@west") => see(facts).ledgers.find((each) => each.name === name);

describe("what an operator sees", () => {
  test("of a service that has never run: its lanes and its limits, all of them free", () => {
    const { lanes, ledgers, jobs, chains } = see();
    expect(lanes.map(({ lane, pausedUntilMs }) => [lane, pausedUntilMs])).toEqual([
      ["rt", undefined],
      ["bg", undefined],
      ["bulk", undefined],
    ]);
    expect(ledgers.map(({ name, kind, inUse, limit, limitMax }) => [name, kind, inUse, limit, limitMax])).toEqual([
      ["fast@west", "target", 0, 4, 8],
      ["fast@east", "target", 0, 4, 8],
      ["global", "global", 0, 10, 10],
    ]);
    expect(ledgers[0]).toStrictEqual({
      name: "fast@west",
      kind: "target",
      inUse: 0,
      limit: 4,
      limitMax: 8,
      leases: [],
      fullFor: [],
      isOut: false,
      region: "us-west-2",
      modelId: "amazon.nova-lite-v1:0",
    });
    expect([...jobs, ...chains]).toEqual([]);
  });

  test("of the queues, as long as they are", () => {
    const depth = { visible: 3, hidden: 2 };
    const seen = see({ depths: { bg: depth, "bg-dead-letters": { visible: 1, hidden: 0 }, parked: depth } });
    expect(seen.lanes[1]).toEqual({ lane: "bg", depth, deadLetters: { visible: 1, hidden: 0 } });
    expect([seen.parked, seen.replies]).toEqual([depth, undefined]);
  });

  test.each([
    [2, 4, []],
    [3, 4, ["bg", "bulk"]],
    [4, 4, []],
    [18, 20, ["bulk"]],
    [19, 20, ["bg", "bulk"]],
    [20, 20, []],
    [21, 20, []],
  ])("with %i leases out of a limit of %i: which lanes have their share, while others may take", (out, lim, lanes) => {
    const page = Object.fromEntries(Array.from({ length: out }, (_, place) => [`lease-${place}`, t0 + 20_000]));
    const wide = { ...target, limit: { start: 4, max: 20 } };
    const seen = { pages: new Map([["fast@west", [page]]]), heads: new Map([["fast@west", { lim }]]) };
    const wideConfig = checkConfig({ models: { fast: { targets: { west: wide } } } });
    expect(ledger({ ...seen, config: wideConfig })?.fullFor).toEqual(lanes);
  });

  describe("of what a lane may spend", () => {
    const price = { inputPerMTok: 1, outputPerMTok: 1 };
    const budgeted = checkConfig({
      models: { fast: { targets: { west: { ...target, price } } } },
      lanes: { bulk: { dailyBudgetUsd: 50 } },
    });
    const name = "bulk#2026-11-29";
    const rows = [row({ jobId: "j-1", lane: "bulk", state: "queued" })];
    const seeSpent = (spent: Seen["spent"], facts: Partial<Seen> = {}) =>
      see({ config: budgeted, rows, ...(spent && { spent }), ...facts });

    test("what it has spent today", () => {
      const { jobs, lanes } = seeSpent(new Map([[name, 40e9]]));
      expect(lanes.map(({ budget }) => budget)).toEqual([
        undefined,
        undefined,
        { spentUsd: 40, budgetUsd: 50, usedPercent: 80 },
      ]);
      expect(jobs).toMatchObject([{ doing: "due" }]);
    });

    test("that it waits for midnight when that is all, and its jobs with it", () => {
      const untilMs = Date.UTC(2026, 10, 30);
      const { jobs, lanes } = seeSpent(new Map([[name, 50e9]]));
      expect(lanes[2]?.budget).toEqual({ spentUsd: 50, budgetUsd: 50, usedPercent: 100, untilMs });
      expect(jobs).toMatchObject([{ why: "its lane bulk has spent its money for the day", untilMs }]);
    });

    test("what its operator lets it spend", () => {
      const overrides = { ...noOverrides, lanes: new Map([["bulk", { budgetUsd: 100 }]] as const) };
      expect(seeSpent(new Map([[name, 50e9]]), { overrides }).lanes[2]?.budget).toEqual({
        spentUsd: 50,
        budgetUsd: 100,
        usedPercent: 50,
      });
    });

    test.each<[says: string, spent: Seen["spent"]]>([
      ["nothing of it where nobody has looked", undefined],
      ["nothing spent before anything was", new Map()],
      ["nothing of a row that cannot be read", new Map([[name, "much"]])],
    ])("%s", (_says, spent) =>
      expect(seeSpent(spent).lanes[2]?.budget).toEqual({ spentUsd: 0, budgetUsd: 50, usedPercent: 0 }),
    );
  });

  test("of open jobs, the oldest first, those of unknown age last", () => {
    const rows = [
      row({ jobId: "unknown" }),
      row({ jobId: "young", enqueuedAtMs: t0 }),
      row({ jobId: "old", enqueuedAtMs: 1 }),
    ];
    expect(see({ rows }).jobs.map(({ jobId }) => jobId)).toEqual(["old", "young", "unknown"]);
  });

  test("of a job, what its row tells of its life, and nothing of its content", () => {
    const life = { step: "fast@west", worker: "bg-w1", stageAtMs: t0, enqueuedAtMs: t0 - 9, deadlineAtMs: t0 + 9 };
    const counts = { fence: 3, requests: 5, attempts: 4, requeues: 2 };
    const rows = [
      row({ jobId: "a", lane: "bg", stage: "requeued until then", contentHash: "h", ...counts, ...life }),
      row({ jobId: "b" }),
    ];
    const due = { doing: "due", why: expect.any(String) };
    expect(see({ rows }).jobs).toStrictEqual([
      {
        jobId: "a",
        lane: "bg",
        deliveries: 3,
        attempts: 5,
        requeues: 2,
        stage: "requeued until then",
        ...life,
        ...due,
      },
      { jobId: "b", deliveries: 1, attempts: 0, requeues: 0, stage: "queued", ...due },
    ]);
  });

  test("of a lane that is paused, until when; and that its jobs wait for that", () => {
    const overrides = { ...noOverrides, lanes: new Map([["bg" as const, { pausedUntilMs: t0 + 5 }]]) };
    const seen = see({ overrides, rows: [row({ jobId: "a", lane: "bg", state: "queued" })] });
    expect(seen.lanes[1]).toMatchObject({ pausedUntilMs: t0 + 5 });
    expect(seen.jobs[0]).toMatchObject({ why: "its lane bg is paused", untilMs: t0 + 5 });
    expect(overviewOf({ ...quiet, overrides, nowMs: t0 + 5 }).lanes[1]).not.toHaveProperty("pausedUntilMs");
  });

  test("of a model whose chain was put in another order", () => {
    const models = new Map([
      ["fast", { chain: ["fast@east"] }],
      ["slow", {}],
    ]);
    expect(see({ overrides: { ...noOverrides, models } }).chains).toEqual([{ model: "fast", chain: ["fast@east"] }]);
    expect(see().missing).toBe("none");
    expect(see({ missing: "any" }).missing).toBe("any");
  });
});

describe("of a limit an operator sees", () => {
  test("the learned one, and an override below it", () => {
    const heads = new Map([["fast@west", { lim: 7 }]]);
    expect(ledger({ heads })).toMatchObject({ limit: 7, limitMax: 8 });
    const overrides = { ...noOverrides, ledgers: new Map([["fast@west", { limit: 2, out: true as const }]]) };
    expect(ledger({ heads, overrides })).toMatchObject({ limit: 2, isOut: true, override: { limit: 2, out: true } });
  });

  test("the later of two pauses, and whose it is", () => {
    const paused = (byOperatorMs: number, byThrottleMs: number) =>
      ledger({
        overrides: { ...noOverrides, ledgers: new Map([["fast@west", { pausedUntilMs: byOperatorMs }]]) },
        heads: new Map([["fast@west", { pausedUntilMs: byThrottleMs }]]),
      })?.paused;
    expect(paused(t0 + 9, t0 + 9)).toEqual({ untilMs: t0 + 9, by: "operator" });
    expect(paused(t0 + 8, t0 + 9)).toEqual({ untilMs: t0 + 9, by: "throttle" });
    expect(paused(t0 + 8, t0)).toEqual({ untilMs: t0 + 8, by: "operator" });
    expect(paused(t0, t0)).toBeUndefined();
  });

  test("its breaker, and where its target is", () => {
    const breakers = new Map([["fast@west", { kind: "open", openUntilMs: t0 + 1 } as const]]);
    expect(ledger({ breakers })).toMatchObject({
      breaker: { kind: "open", openUntilMs: t0 + 1 },
      region: "us-west-2",
      modelId: "amazon.nova-lite-v1:0",
    });
  });

  test("who holds its leases: the container by its mark, and the jobs that it runs there", () => {
    const [mine, nobodys] = [leaseIdOf("bg-worker-one1", "AAAABBBBCCCC"), "zzzzBBBBCCCC"];
    const rows = [
      running("here", "bg-worker-one1", "fast@west"),
      running("elsewhere", "bg-worker-one1", "fast@east"),
      running("other", "bg-worker-two2", "fast@west"),
      running("anywhere", "bg-worker-one1"),
      row({ jobId: "over", worker: "bg-worker-one1", step: "fast@west", state: "queued" }),
    ];
    const page = { [mine]: t0 + 20_000, [nobodys]: t0 - 3_001 };
    const pages = new Map([
      ["fast@west", [page, {}]],
      ["global", [page]],
    ]);
    expect(ledger({ rows, pages })?.leases).toEqual([
      { id: mine, expiresAtMs: t0 + 20_000, hasLapsed: false, worker: "bg-worker-one1", jobIds: ["here", "anywhere"] },
      { id: nobodys, expiresAtMs: t0 - 3_001, hasLapsed: true, jobIds: [] },
    ]);
    expect(ledger({ rows, pages })?.inUse).toBe(2);
    expect(ledger({ rows, pages }, "global")?.leases[0]?.jobIds).toEqual(["here", "elsewhere", "anywhere"]);
  });
});
