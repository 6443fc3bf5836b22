import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Config, TargetConfig } from "../../lib/core/config.ts";
import { targetsOf } from "../../lib/core/config.ts";
import {
  chargeOf,
  idleLimits,
  leaseAsks,
  ledgerKind,
  ledgersOf,
  neverAdmitted,
  sharedLimits,
  wantedBy,
} from "../../lib/core/ledgers.ts";
import { plan } from "../../lib/core/plan.ts";
import { a } from "../a.ts";

interface Facts {
  /** The maxima of targets `a`, `b`, … of the model `m`; a group's name puts the target into it. */
  readonly targets: readonly (readonly [max: number, group?: string])[];
  readonly operations?: Readonly<Record<string, number>>;
  readonly groups?: Readonly<Record<string, number>>;
  readonly global?: number;
}

const limits = (of: Readonly<Record<string, number>> = {}) =>
  Object.fromEntries(Object.entries(of).map(([name, limitMax]) => [name, { limitMax }]));

const aConfig = ({ targets, operations, groups, global }: Facts): Config => {
  const place = (max: number, quotaGroup?: string): TargetConfig => ({
    modelId: "us.amazon.nova-lite-v1:0",
    region: "us-west-2",
    limit: { start: 1, max },
    maxTokens: 100,
    ...(quotaGroup === undefined ? {} : { quotaGroup }),
  });
  const named = targets.map(([max, group], index) => [String.fromCharCode(97 + index), place(max, group)] as const);
  return a.config({
    models: { m: { targets: Object.fromEntries(named) } },
    operations: limits(operations),
    quotaGroups: limits(groups),
    ...(global === undefined ? {} : { global: { limitMax: global } }),
  });
};

const stepOn = (config: Config, target = "a") => {
  const planned = plan(a.job({ model: `m@${target}`, fallback: [] }), config);
  if (planned.kind !== "plan") throw new Error("no such target");
  return planned.steps[0];
};

/** The ledgers of a job on `m@a`, in their order, each with its maximum. */
const asked = (facts: Facts, operation?: string) => {
  const config = aConfig(facts);
  const job = a.job(operation === undefined ? {} : { operation });
  return leaseAsks(job, stepOn(config), config).map(({ ledger, limitMax }) => `${ledger} ${limitMax}`);
};

describe("an attempt takes a lease", () => {
  const wide: Facts = { targets: [[40, "g"], [40, "g"], [40]] };
  const rows: [says: string, facts: Facts, operation: string | undefined, asks: string[]][] = [
    ["of its target", wide, undefined, ["m@a 40"]],
    ["of its operation, if that has a limit", { ...wide, operations: { o: 10 } }, "o", ["operation:o 10", "m@a 40"]],
    ["of no other operation", { ...wide, operations: { o: 10 } }, "p", ["m@a 40"]],
    ["of none if it names none", { ...wide, operations: { o: 10 } }, undefined, ["m@a 40"]],
    ["of its target's quota group", { ...wide, groups: { g: 50, h: 1 } }, undefined, ["m@a 40", "group:g 50"]],
    ["of everything", { ...wide, global: 100 }, undefined, ["m@a 40", "global 100"]],
    [
      "of the narrowest limit first",
      { ...wide, operations: { o: 60 }, groups: { g: 50 }, global: 30 },
      "o",
      ["global 30", "m@a 40", "group:g 50"],
    ],
    ["named like a property of all objects, of its target alone", wide, "constructor", ["m@a 40"]],
  ];
  test.each(rows)("%s", (_says, facts, operation, asks) => expect(asked(facts, operation)).toEqual(asks));

  test("in ties in that order", () =>
    expect(
      asked({ targets: [[9, "g"], [9, "g"], [9]], operations: { o: 9 }, groups: { g: 9 }, global: 12 }, "o"),
    ).toEqual(["operation:o 9", "m@a 9", "group:g 9", "global 12"]));

  test("with its lane's share of each, and learns the target's limit alone", () => {
    const config = aConfig({
      targets: [
        [40, "g"],
        [40, "g"],
      ],
      groups: { g: 50 },
    });
    expect(leaseAsks(a.job({ lane: "bulk" }), stepOn(config), config)).toEqual([
      { ledger: "m@a", lane: "bulk", share: 0.9, limitStart: 1, limitMax: 40 },
      { ledger: "group:g", lane: "bulk", share: 0.9, limitStart: 50, limitMax: 50 },
    ]);
  });
});

describe("a limit that cannot bind has no ledger", () => {
  const rows: [says: string, facts: Facts, ledgers: string[], idle: string[]][] = [
    [
      "a group as wide as its targets",
      {
        targets: [
          [40, "g"],
          [40, "g"],
        ],
        groups: { g: 80 },
      },
      [],
      ["quotaGroups.g"],
    ],
    [
      "and one narrower has",
      {
        targets: [
          [40, "g"],
          [40, "g"],
        ],
        groups: { g: 79 },
      },
      ["group:g"],
      [],
    ],
    ["a group of a single wider target has", { targets: [[40, "g"]], groups: { g: 39 } }, ["group:g"], []],
    ["a group that nobody is in", { targets: [[40]], groups: { g: 1 } }, [], ["quotaGroups.g (no target names it)"]],
    ["a global limit as wide as all targets", { targets: [[40], [2]], global: 42 }, [], ["global"]],
    ["and one narrower has", { targets: [[40], [2]], global: 41 }, ["global"], []],
    [
      "a global limit that the groups keep already",
      { targets: [[40, "g"], [40, "g"], [5]], groups: { g: 50 }, global: 55 },
      ["group:g"],
      ["global"],
    ],
    [
      "an operation as wide as everything",
      { targets: [[40]], operations: { o: 40, p: 39 } },
      ["operation:p"],
      ["operations.o"],
    ],
    [
      "an operation that the global limit keeps already",
      { targets: [[40]], operations: { o: 30, p: 29 }, global: 30 },
      ["operation:p", "global"],
      ["operations.o"],
    ],
  ];
  test.each(rows)("%s", (_says, facts, ledgers, idle) => {
    const config = aConfig(facts);
    expect([...sharedLimits(config).keys()]).toEqual(ledgers);
    expect(idleLimits(config)).toEqual(idle);
    expect([...ledgersOf(config)]).toEqual([
      ...targetsOf(config).map(({ step, target }) => [step, target.limit.max]),
      ...sharedLimits(config),
    ]);
  });

  test("whatever a config says: what keeps to the ledgers that are made keeps to all limits", () => {
    const max = fc.integer({ min: 1, max: 30 });
    const anyFacts = fc.record(
      {
        targets: fc.array(fc.tuple(max, fc.constantFrom("g", "h", undefined)), { minLength: 1, maxLength: 6 }),
        groups: fc.record({ g: max, h: max }),
        global: max,
        operations: fc.record({ o: max }),
      },
      { requiredKeys: ["targets", "groups"] },
    );
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const config = aConfig({
          targets: facts.targets.map(([limit, group]) => (group === undefined ? [limit] : [limit, group])),
          groups: facts.groups,
          ...(facts.operations === undefined ? {} : { operations: facts.operations }),
          ...(facts.global === undefined ? {} : { global: facts.global }),
        });
        // As many jobs of one operation as the ledgers let through, the targets in turn.
        const out = new Map<string, number>();
        const kept = new Map<string, number>();
        const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
        for (const { name, target } of targetsOf(config)) {
          const asks = leaseAsks(a.job({ operation: "o" }), stepOn(config, name), config);
          while (asks.every(({ ledger, limitMax }) => (out.get(ledger) ?? 0) < limitMax)) {
            for (const { ledger } of asks) add(out, ledger);
            for (const covered of ["operation", `group ${target.quotaGroup}`, "global"]) add(kept, covered);
          }
        }
        expect(kept.get("global") ?? 0).toBeLessThanOrEqual(config.global?.limitMax ?? Infinity);
        expect(kept.get("operation") ?? 0).toBeLessThanOrEqual(config.operations["o"]?.limitMax ?? Infinity);
        for (const [group, { limitMax }] of Object.entries(config.quotaGroups))
          expect(kept.get(`group ${group}`) ?? 0).toBeLessThanOrEqual(limitMax);
      }),
    );
  });
});

test("the name of a ledger tells its kind, whatever things are called", () =>
  expect(["operation:global", "global@here", "group:operation", "global", "operation@x"].map(ledgerKind)).toEqual([
    "operation",
    "target",
    "group",
    "global",
    "target",
  ]));

describe("the charge of an attempt", () => {
  const quota = { requestsPerMinute: 60 };
  const wanted = (max: number) => {
    const config = aConfig({ targets: [[max, "g"], [max, "g"], [max]], operations: { o: 40 }, groups: { g: 33 } });
    const job = a.job({ operation: "o" });
    return wantedBy(job, { ...stepOn(config), quota }, { inputTokens: 1 }, config);
  };
  const bearers = ({ asks }: ReturnType<typeof wanted>) =>
    asks.map(({ ledger, charge }) => [ledger, charge !== undefined]);

  test("is borne by its target's take where that has one page, the last of all", () => {
    expect(bearers(wanted(32))).toEqual([
      ["group:g", false],
      ["operation:o", false],
      ["m@a", true],
    ]);
    expect(wanted(32).charge).toBeUndefined();
  });
  test("is made on the head where it has more, and the order is by the limits", () => {
    expect(bearers(wanted(33)).map(([, bears]) => bears)).toEqual([false, false, false]);
    expect(wanted(33).asks.at(-1)?.ledger).toBe("operation:o");
    expect(wanted(33).charge).toEqual({ tokens: 0, quota });
  });
  test("is not borne by another's take, though that has one page", () => {
    const config = aConfig({ targets: [[40]], operations: { o: 5 } });
    const { asks, charge } = wantedBy(
      a.job({ operation: "o" }),
      { ...stepOn(config), quota },
      { inputTokens: 1 },
      config,
    );
    expect(bearers({ target: "m@a", asks })).toEqual([
      ["operation:o", false],
      ["m@a", false],
    ]);
    expect(charge).toBeDefined();
  });
  test("is the same either way", () => expect(chargeOf(wanted(32))).toEqual(chargeOf(wanted(33))));
});

describe("an attempt sets aside", () => {
  const need = { inputTokens: 1_000, maxTokens: 200 };
  const wanted = (facts: Partial<TargetConfig>, asks: { inputTokens: number; maxTokens?: number } = need) => {
    const config = a.config();
    const fast = config.models["fast-text"];
    const place = fast?.targets["us-west-2"];
    if (fast === undefined || place === undefined) throw new Error("no such target");
    const models = { "fast-text": { targets: { "us-west-2": { ...place, maxTokens: 500, ...facts } } } };
    const planned = plan(a.job({ model: "fast-text" }), a.config({ models }));
    if (planned.kind !== "plan") throw new Error("no plan");
    return chargeOf(wantedBy(a.job(), planned.steps[0], asks, a.config({ models })));
  };

  test("nothing where no quota is configured", () => expect(wanted({})).toBeUndefined());
  test("a request where only requests are counted", () =>
    expect(wanted({ requestsPerMinute: 60 })).toEqual({ tokens: 0, quota: { requestsPerMinute: 60 } }));
  test("its input and the longest answer that it asks for", () =>
    expect(wanted({ tokensPerMinute: 9_000 })?.tokens).toBe(1_200));
  test("the step's ceiling where that is lower, or the job names none", () => {
    expect(wanted({ tokensPerMinute: 9_000 }, { inputTokens: 1_000, maxTokens: 900 })?.tokens).toBe(1_500);
    expect(wanted({ tokensPerMinute: 9_000 }, { inputTokens: 1_000 })?.tokens).toBe(1_500);
  });
  test("the answer × burndown, as the config says it", () =>
    expect(wanted({ tokensPerMinute: 9_000, burndown: 5 })?.tokens).toBe(2_000));
  test("the answer × burndown, as AWS tells it of the model, behind an ARN too", () => {
    const arn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/abc";
    const behind = { modelId: arn, baseModelId: "us.anthropic.claude-sonnet-4-6", tokensPerMinute: 9_000 };
    expect(wanted({ modelId: "us.anthropic.claude-sonnet-4-6", tokensPerMinute: 9_000 })?.tokens).toBe(2_000);
    expect(wanted(behind)?.tokens).toBe(2_000);
  });
});

test("what names no operation and no group is in none, be one called undefined", () =>
  expect(asked({ targets: [[40], [9, "undefined"]], operations: { undefined: 5 }, groups: { undefined: 6 } })).toEqual([
    "m@a 40",
  ]));

describe("a ceiling that never fits a minute's quota is told", () => {
  const place = { modelId: "us.amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 9 } };
  test.each<[says: string, quota: { readonly tokensPerMinute?: number }, paths: string[]]>([
    ["where it is the quota", { tokensPerMinute: 4_096 }, ["models.m.targets.a.maxTokens"]],
    ["and more so where it is above", { tokensPerMinute: 4_095 }, ["models.m.targets.a.maxTokens"]],
    ["not where a token is left for the prompt", { tokensPerMinute: 4_097 }, []],
    ["nor where nobody counts", {}, []],
  ])("%s", (_says, quota, paths) =>
    expect(
      neverAdmitted(a.config({ models: { m: { targets: { a: { ...place, maxTokens: 4_096, ...quota } } } } })),
    ).toEqual(paths),
  );
});
