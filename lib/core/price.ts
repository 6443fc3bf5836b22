import type { Price } from "./config.ts";
import type { JsonObject } from "./json.ts";
import { isObject } from "./json.ts";
import type { Step } from "./plan.ts";

/**
 * What a token costs by its service tier, against the default one, where a price says nothing else: so AWS prices the Nova
 * models. https://aws.amazon.com/bedrock/pricing
 */
const tierFactors = { priority: 1.75, flex: 0.5 };

/** A step as its request is billed: its own tier's price, or that of the tier that the caller's params ask for. */
export function billedAs(step: Step, params: JsonObject): Step {
  const { price } = step;
  if (price === undefined) return step;
  const asked = isObject(params.serviceTier) ? params.serviceTier.type : undefined;
  return { ...step, price: priceAt(price, step.serviceTier ?? asked) };
}

function priceAt(price: Price, tier: unknown): Price {
  if (tier !== "priority" && tier !== "flex") return price;
  const factor = price.tierFactors?.[tier] ?? tierFactors[tier];
  const { inputPerMTok, outputPerMTok, cacheReadPerMTok, cacheWritePerMTok } = price;
  return {
    inputPerMTok: inputPerMTok * factor,
    outputPerMTok: outputPerMTok * factor,
    ...(cacheReadPerMTok === undefined ? {} : { cacheReadPerMTok: cacheReadPerMTok * factor }),
    ...(cacheWritePerMTok === undefined ? {} : { cacheWritePerMTok: cacheWritePerMTok * factor }),
  };
}
