import { describe, expect, test } from "vitest";
import { laws } from "./worker/invariants.ts";
import { culpritsOfBudgets } from "./worker/culprits-of-budgets.ts";
import { culpritsOfLeases } from "./worker/culprits-of-leases.ts";
import { culpritsOfReplies } from "./worker/culprits-of-replies.ts";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { walk } from "./worker/walk.ts";

const culprits = [...culpritsOfReplies, ...culpritsOfLeases, ...culpritsOfBudgets];

describe("the judges of a simulated run find", () => {
  test.each(culprits)("$says", async ({ law, scenario: name, faults = [], mutant }) => {
    const scenario = scenarios.find((one) => one.name === name);
    if (scenario === undefined) throw new Error(`no scenario is called "${name}"`);
    const { breaches } = await walk(scenario, { ...calm, faults }, mutant);
    expect(breaches.map((breach) => breach.law.law)).toContain(law);
    // Without its mutation the same run is good.
    expect((await walk(scenario, { ...calm, faults })).breaches).toEqual([]);
  });

  test("every kind of breach that they know", () => {
    expect(new Set(culprits.map(({ law }) => law))).toEqual(new Set(laws.map(({ law }) => law)));
  });
});
