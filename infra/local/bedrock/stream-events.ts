import { isObject } from "../../../lib/core/json.ts";
import type { Json, JsonObject } from "../../../lib/core/json.ts";
import { usageOf } from "../../../lib/memory/bedrock-answer.ts";
import type { MadeAnswer } from "../../../lib/memory/bedrock-answer.ts";

export type StreamEvent = readonly [type: string, payload: JsonObject];

/** The answer as ConverseStream tells it: every block cut into small deltas, as models send them. */
export function streamEvents(made: MadeAnswer, latencyMs: number): StreamEvent[] {
  return [
    ["messageStart", { role: "assistant" }],
    ...made.content.flatMap((block, contentBlockIndex) => blockEvents(block, contentBlockIndex)),
    ["messageStop", { stopReason: made.stopReason }],
    ["metadata", { usage: usageOf(made), metrics: { latencyMs: Math.round(latencyMs) } }],
  ];
}

function blockEvents(block: JsonObject, contentBlockIndex: number): StreamEvent[] {
  const { start, deltas } = blockParts(block);
  return [
    // Bedrock opens a text block without a word.
    ...(start === undefined ? [] : [["contentBlockStart", { start, contentBlockIndex }] as const]),
    ...deltas.map((delta) => ["contentBlockDelta", { delta, contentBlockIndex }] as const),
    ["contentBlockStop", { contentBlockIndex }],
  ];
}

function blockParts(block: JsonObject): { readonly start?: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { text, toolUse, toolResult, reasoningContent, citationsContent, image } = block;
  if (typeof text === "string") return { deltas: pieces(text).map((piece) => ({ text: piece })) };
  if (isObject(toolUse)) {
    const { input, ...start } = toolUse;
    return {
      start: { toolUse: start },
      deltas: pieces(JSON.stringify(input)).map((piece) => ({ toolUse: { input: piece } })),
    };
  }
  if (isObject(toolResult)) {
    const { content, ...start } = toolResult;
    return { start: { toolResult: start }, deltas: list(content).map((item) => ({ toolResult: [item] })) };
  }
  if (isObject(reasoningContent))
    return { deltas: reasoningDeltas(reasoningContent).map((delta) => ({ reasoningContent: delta })) };
  if (isObject(citationsContent)) {
    const said = list(citationsContent.content).flatMap((item) => pieces(item.text));
    return {
      deltas: [
        ...said.map((piece) => ({ text: piece })),
        ...list(citationsContent.citations).map((citation) => ({ citation })),
      ],
    };
  }
  if (isObject(image)) {
    const { source, ...start } = image;
    return { start: { image: start }, deltas: [{ image: { source } }] };
  }
  throw new Error(`no stream form for a block of ${Object.keys(block).join(", ")}`);
}

function reasoningDeltas({ reasoningText, redactedContent }: JsonObject): JsonObject[] {
  if (!isObject(reasoningText)) return [{ redactedContent }];
  const { text, signature } = reasoningText;
  return [...pieces(text).map((piece) => ({ text: piece })), ...(signature === undefined ? [] : [{ signature }])];
}

function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function pieces(text: Json | undefined): string[] {
  return typeof text === "string" ? (text.match(/[\s\S]{1,12}/gu) ?? []) : [];
}
