import type { SQSClient } from "@aws-sdk/client-sqs";
import { parseJson } from "../core/json.ts";

/**
 * JSON with the characters beyond U+FFFF written as escapes: the same value. SQS takes an emoji as it is, the engine that
 * stands in for it does not.
 */
export function escaped(json: string): string {
  return json.replaceAll(/[\u{10000}-\u{10FFFF}]/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16)}`)
      .join(""),
  );
}

/** Has a client send every JSON body so. */
export function escapeBodies(sqs: SQSClient): void {
  sqs.middlewareStack.add((next) => (args) => next({ ...args, input: withEscapes(args.input) }), {
    step: "initialize",
  });
}

function withEscapes<Input extends object>(input: Input): Input {
  if ("MessageBody" in input && typeof input.MessageBody === "string" && parseJson(input.MessageBody) !== undefined)
    return { ...input, MessageBody: escaped(input.MessageBody) };
  if ("Entries" in input && Array.isArray(input.Entries))
    return { ...input, Entries: input.Entries.map((entry: object) => withEscapes(entry)) };
  return input;
}
