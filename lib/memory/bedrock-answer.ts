import { isObject } from "../core/json.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { Answer } from "./bedrock-script.ts";

/** A model's answer before it takes the shape of an operation. */
export interface MadeAnswer {
  readonly content: readonly JsonObject[];
  readonly stopReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const sentences = [
  "The three points agree with each other, and the second one matters most.",
  "Nothing in this contradicts what was said before; it can go out as it stands.",
  "In short: the order is complete, paid, and waits for its carrier.",
  "Two things stand out, a late delivery and a customer who was patient about it.",
  "It reads as a request for a refund, written politely and with every detail needed.",
];

/** The same request gets the same answer, and nothing of its prompt comes back. */
export function makeAnswer(params: JsonObject, scripted: Partial<Answer> = {}): MadeAnswer {
  const asked = JSON.stringify(params);
  const hash = fnv1a(asked);
  const said = `${sentences[hash % sentences.length]} (${hash.toString(16).padStart(8, "0")})`;
  const maxTokens = maxTokensOf(params);
  const cut = scripted.content === undefined && tokens(said) > maxTokens;
  const content = scripted.content ?? [{ text: cut ? said.slice(0, 4 * maxTokens) : said }];
  return {
    content,
    stopReason:
      scripted.stopReason ??
      (cut ? "max_tokens" : content.some((block) => "toolUse" in block) ? "tool_use" : "end_turn"),
    inputTokens: scripted.inputTokens ?? tokens(asked),
    outputTokens: scripted.outputTokens ?? Math.min(maxTokens, tokens(JSON.stringify(content)) - 4),
  };
}

/** What a model without a script counts in the input of a request. */
export function countOf(input: JsonObject, { inputTokens }: Partial<Answer>): number {
  return inputTokens ?? tokens(JSON.stringify(input));
}

/** As Converse answers. */
export function converseBody(made: MadeAnswer, latencyMs: number): JsonObject {
  return {
    output: { message: { role: "assistant", content: made.content } },
    stopReason: made.stopReason,
    usage: usageOf(made),
    metrics: { latencyMs: Math.round(latencyMs) },
  };
}

export function usageOf({ inputTokens, outputTokens }: MadeAnswer): JsonObject {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** As the model family answers by itself: Claude's messages, Titan's embedding, else Nova's. */
export function invokeBody(modelId: string, made: MadeAnswer): JsonObject {
  if (modelId.includes("anthropic.")) {
    return {
      type: "message",
      role: "assistant",
      content: made.content.map((block) =>
        typeof block.text === "string" ? { type: "text", text: block.text } : block,
      ),
      stop_reason: made.stopReason,
      usage: { input_tokens: made.inputTokens, output_tokens: made.outputTokens },
    };
  }
  if (modelId.includes("embed")) return { embedding: [0.0123, -0.4567, 0.089], inputTextTokenCount: made.inputTokens };
  return {
    output: { message: { role: "assistant", content: made.content } },
    stopReason: made.stopReason,
    usage: usageOf(made),
  };
}

function maxTokensOf(params: JsonObject): number {
  const config = isObject(params.inferenceConfig) ? params.inferenceConfig : {};
  const asked: Json | undefined = config.maxTokens ?? params.max_tokens;
  return typeof asked === "number" ? asked : Number.POSITIVE_INFINITY;
}

/** Near enough: four characters a token. */
export function tokens(written: string): number {
  return Math.max(1, Math.ceil(written.length / 4));
}

function fnv1a(written: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < written.length; at++) hash = Math.imul(hash ^ written.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
