import type { Op, TargetConfig } from "./config.ts";
import type { JsonObject } from "./json.ts";
import { readModelId } from "./model-id.ts";
import type { Need, Step } from "./plan.ts";

/** What a delivery has counted, by model: the prompt's input tokens; undefined: that model would not tell. */
export type Counts = ReadonlyMap<string, number | undefined>;

/**
 * The model that counts for a target; undefined: an ARN that does not tell it. CountTokens takes a foundation model's
 * bare id, also where a request must name an inference profile, and turns profiles and ARNs away; not every model has it.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html
 */
export function countedAs({ modelId, baseModelId }: Pick<TargetConfig, "modelId" | "baseModelId">): string | undefined {
  const named = readModelId(baseModelId ?? modelId);
  return named === undefined || named.kind === "own" ? undefined : named.modelId;
}

/** Whether the config wants a step's prompts counted, and something is there to hold the count against. */
export function wantsCount({ countTokens, contextWindow, quota }: Step): boolean {
  return countTokens === true && (contextWindow !== undefined || quota?.tokensPerMinute !== undefined);
}

/** The need as a step's model sees it: a count, once there is one, takes the estimate's place. */
export function needOn(step: Step, need: Need, counts: Counts): Need {
  // mutant: `""` → `"mutant"`: no model is called so either.
  const tokens = counts.get(countedAs(step) ?? "");
  return tokens === undefined ? need : { ...need, inputTokens: tokens, counted: true };
}

const converseInput: ReadonlySet<string> = new Set([
  "messages",
  "system",
  "toolConfig",
  "additionalModelRequestFields",
]);

/** The part of a request that CountTokens takes: of Converse's what is input, of a model's own body all. */
export function countable(op: Op, params: JsonObject): JsonObject {
  if (op === "invoke_model") return params;
  return Object.fromEntries(Object.entries(params).filter(([key]) => converseInput.has(key)));
}
