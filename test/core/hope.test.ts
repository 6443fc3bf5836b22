import { expect, test } from "vitest";
import { withoutLease } from "../../lib/core/hope.ts";
import type { StepOutcome } from "../../lib/core/hope.ts";
import type { NoLease } from "../../lib/core/lease.ts";
import { t0 } from "../a.ts";

const step = "fast-text@us-west-2";

test.each<[says: string, why: Parameters<typeof withoutLease>[1] & NoLease, outcome: StepOutcome]>([
  ["its target's limit is full", { kind: "full" }, { step, kind: "no-lease" }],
  ["another limit is", { kind: "full", ledger: "global" }, { step, kind: "no-lease", ledger: "global" }],
  ["its target is paused", { kind: "paused", untilMs: t0 }, { step, kind: "no-lease", untilMs: t0 }],
  ["its quota is spent", { kind: "tokens", untilMs: t0 }, { step, kind: "quota-spent", untilMs: t0 }],
  ["it is above a quota", { kind: "above-quota", tokensMax: 9 }, { step, kind: "above-quota", tokensMax: 9 }],
])("a step is left without a lease because %s", (_says, why, outcome) =>
  expect(withoutLease(step, why)).toStrictEqual(outcome),
);
