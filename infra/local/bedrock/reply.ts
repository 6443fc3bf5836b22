import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../../lib/core/json.ts";
import { converseBody, countOf, invokeBody, makeAnswer } from "../../../lib/memory/bedrock-answer.ts";
import type { MadeAnswer } from "../../../lib/memory/bedrock-answer.ts";
import { faultOf, waitHeaders } from "../../../lib/memory/bedrock-play.ts";
import type { Turn } from "../../../lib/memory/bedrock-play.ts";
import type { Answer, Effect, Faulty } from "../../../lib/memory/bedrock-script.ts";
import { errorFrame, eventFrame } from "./event-stream.ts";
import type { Asked } from "./request.ts";
import { streamEvents } from "./stream-events.ts";
import type { StreamEvent } from "./stream-events.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** The connection of one call. `wait` and `gone` end by throwing or returning when the client leaves. */
export interface Wire {
  wait(ms: number): Promise<void>;
  gone(): Promise<unknown>;
  head(status: number, headers: Readonly<Record<string, string>>): void;
  write(chunk: Buffer): void;
  /** A TCP reset. */
  cut(): void;
  end(chunk?: Buffer): void;
  /** For the record: the script has been carried out. */
  done(): void;
}

/** One answer, whole, and where it may be cut: a stream at its events, any other body in bytes. */
export interface Whole {
  readonly made: MadeAnswer;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Buffer[];
}

/** Carries out what the script wants of this call. The record hears of it before the last byte leaves: it never lags. */
export async function perform(asked: Asked, { effect, latencyMs }: Turn, whole: Whole, wire: Wire): Promise<void> {
  await wire.wait(latencyMs);
  switch (effect.kind) {
    case "answer":
      wire.done();
      wire.head(200, whole.headers);
      return wire.end(Buffer.concat(whole.chunks));
    case "trickle":
      return trickle(whole, effect, wire);
    case "fail":
      return fail(effect, wire);
    case "stream-error":
      return asked.call.op === "converse_stream" ? streamError(whole, effect, wire) : fail(effect, wire);
    case "hang":
      begin(whole, effect.after, wire);
      await wire.gone();
      return;
    case "reset":
      begin(whole, effect.after, wire);
      // What is written has to leave before the reset overtakes it.
      if (effect.after !== "nothing") await wire.wait(20);
      wire.done();
      return wire.cut();
    case "malformed":
      wire.done();
      wire.head(200, whole.headers);
      return wire.end(spoilt(Buffer.concat(whole.chunks)));
    case "truncated":
      return truncated(asked, whole, wire);
  }
}

/** The last byte is a brace in JSON and a part of the checksum in a frame. */
function spoilt(bytes: Buffer): Buffer {
  const last = bytes.length - 1;
  bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last);
  return bytes;
}

async function trickle(
  whole: Whole,
  { everyMs, pieces }: Extract<Effect, { kind: "trickle" }>,
  wire: Wire,
): Promise<void> {
  const bytes = Buffer.concat(whole.chunks);
  const step = Math.ceil(bytes.length / pieces);
  wire.head(200, whole.headers);
  for (let at = 0; at < bytes.length; at += step) {
    await wire.wait(everyMs);
    const last = at + step >= bytes.length;
    if (last) wire.done();
    wire.write(bytes.subarray(at, at + step));
  }
  wire.end();
}

function fail(effect: Faulty, wire: Wire): void {
  const { status, name, message } = faultOf(effect.error);
  const reply = errorReply({ status, name, message }, bodyExtras(effect), waitHeaders(effect));
  wire.done();
  wire.head(reply.status, reply.headers);
  wire.end(Buffer.from(reply.body));
}

function bodyExtras({ originalStatusCode, expectedQueueDelayInMs }: Faulty): JsonObject {
  return { originalStatusCode, expectedQueueDelayInMs };
}

export function errorReply(
  { status, name, message }: { readonly status: number; readonly name: string; readonly message: string },
  extras: JsonObject = {},
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body = JSON.stringify({ message, ...extras });
  return {
    status,
    headers: {
      ...common("application/json", Buffer.byteLength(body)),
      "x-amzn-errortype": `${name}:http://internal.amazon.com/`,
      ...headers,
    },
    body,
  };
}

function streamError(whole: Whole, effect: Extract<Effect, { kind: "stream-error" }>, wire: Wire): void {
  const { name, message } = faultOf(effect.error);
  wire.done();
  wire.head(200, whole.headers);
  wire.end(
    Buffer.concat([...whole.chunks.slice(0, effect.afterEvents), errorFrame(name, { message, ...bodyExtras(effect) })]),
  );
}

function truncated(asked: Asked, whole: Whole, wire: Wire): void {
  wire.done();
  if (asked.call.op === "converse_stream") {
    wire.head(200, whole.headers);
    // messageStop and metadata are the last two.
    return wire.end(Buffer.concat(whole.chunks.slice(0, -2)));
  }
  begin(whole, "part", wire);
  wire.cut();
}

/** The first part of an answer whose rest will not come. */
function begin(whole: Whole, after: "nothing" | "headers" | "part", wire: Wire): void {
  if (after === "nothing") return;
  wire.head(200, whole.headers);
  const bytes = Buffer.concat(whole.chunks);
  if (after === "part") wire.write(bytes.subarray(0, Math.ceil(bytes.length / 2)));
}

export function wholeAnswer({ call, params }: Asked, scripted: Partial<Answer>, latencyMs: number): Whole {
  const made = makeAnswer(params, scripted);
  if (call.op === "converse_stream") {
    const chunks = streamEvents(made, latencyMs).map(([type, payload]: StreamEvent) => eventFrame(type, payload));
    return { made, headers: common("application/vnd.amazon.eventstream"), chunks };
  }
  const body = Buffer.from(JSON.stringify(bodyOf(call, params, made, scripted, latencyMs)));
  const counted = call.op === "invoke_model" ? countHeaders(made) : {};
  return { made, headers: { ...common("application/json", body.length), ...counted }, chunks: [body] };
}

function bodyOf(
  call: Asked["call"],
  params: JsonObject,
  made: MadeAnswer,
  scripted: Partial<Answer>,
  latencyMs: number,
): JsonObject {
  switch (call.op) {
    case "converse":
    case "converse_stream":
      return converseBody(made, latencyMs);
    case "invoke_model":
      return scripted.body ?? invokeBody(call.modelId, made);
    case "count_tokens":
      return { inputTokens: countOf(params, scripted) };
  }
}

function countHeaders({ inputTokens, outputTokens }: MadeAnswer): Record<string, string> {
  return {
    "x-amzn-bedrock-input-token-count": String(inputTokens),
    "x-amzn-bedrock-output-token-count": String(outputTokens),
  };
}

function common(type: string, length?: number): Record<string, string> {
  return {
    "content-type": type,
    "x-amzn-requestid": randomUUID(),
    ...(length === undefined ? {} : { "content-length": String(length) }),
  };
}
