import { expect, test } from "vitest";
import type { Price } from "../../lib/core/config.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { Step } from "../../lib/core/plan.ts";
import { billedAs } from "../../lib/core/price.ts";
import { a } from "../a.ts";

const price: Price = { inputPerMTok: 1, outputPerMTok: 4, cacheReadPerMTok: 0.25, cacheWritePerMTok: 2 };
const half: Price = { inputPerMTok: 0.5, outputPerMTok: 2, cacheReadPerMTok: 0.125, cacheWritePerMTok: 1 };
const dearer: Price = { inputPerMTok: 1.75, outputPerMTok: 7, cacheReadPerMTok: 0.4375, cacheWritePerMTok: 3.5 };

const rows: [says: string, step: Partial<Step>, params: JsonObject, billed: Price | undefined][] = [
  ["as the config says, where nobody asks for a tier", { price }, {}, price],
  ["so too in the default tier", { price, serviceTier: "default" }, {}, price],
  ["half in flex", { price, serviceTier: "flex" }, {}, half],
  ["1.75 times as much in priority", { price, serviceTier: "priority" }, {}, dearer],
  ["by the caller's tier, where the config names none", { price }, { serviceTier: { type: "flex" } }, half],
  [
    "by the config's, which is sent, before the caller's",
    { price, serviceTier: "default" },
    { serviceTier: { type: "flex" } },
    price,
  ],
  ["as in the default tier for one that is unknown", { price }, { serviceTier: { type: "reserved" } }, price],
  ["so too for what is no tier", { price }, { serviceTier: "flex" }, price],
  [
    "by the factor that the price itself names",
    { price: { ...price, tierFactors: { flex: 1.75, priority: 9 } }, serviceTier: "flex" },
    {},
    dearer,
  ],
  [
    "by AWS's for the tier that it leaves out",
    { price: { ...price, tierFactors: { flex: 9 } }, serviceTier: "priority" },
    {},
    dearer,
  ],
  [
    "without a price for its cache, if it has none",
    { price: { inputPerMTok: 1, outputPerMTok: 4 }, serviceTier: "flex" },
    {},
    { inputPerMTok: 0.5, outputPerMTok: 2 },
  ],
  ["not at all without a price", { serviceTier: "flex" }, {}, undefined],
];
test.each(rows)("an attempt is billed %s", (_says, step, params, billed) =>
  expect(billedAs(a.step(step), params).price).toEqual(billed),
);
