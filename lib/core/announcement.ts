import { isObject, parseJson, sqsJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { announcementBytesMax, taskCauseBytesMax, taskErrorLengthMax, taskOutputBytesMax } from "./limits.ts";

/** What EventBridge is sent, beside its bus: `detail` is the reply. */
export interface ReplyEvent {
  readonly source: "sluice";
  readonly detailType: "Sluice Job Completed";
  readonly detail: string;
}

/** What a topic is sent. Attributes are what filter policies of subscriptions choose by. */
export interface Notification {
  readonly message: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** How a task of Step Functions ends: with the reply as its output, or with an error that a state machine can catch. */
export type TaskEnd =
  | { readonly kind: "success"; readonly output: string }
  | { readonly kind: "failure"; readonly error: string; readonly cause: string };

/** `reply`: its JSON text as stored, here and below. */
export function eventOf(reply: string): ReplyEvent {
  return { source: "sluice", detailType: "Sluice Job Completed", detail: within(reply, announcementBytesMax) };
}

export function notificationOf(reply: string): Notification {
  const { jobId, status } = fieldsOf(reply);
  const attributes = Object.entries({ jobId, status }).filter(isTold);
  return { message: within(reply, announcementBytesMax), attributes: Object.fromEntries(attributes) };
}

/** A reply that is not `ok` fails its task: the error is its code, to be caught by name, and the cause the reply. */
export function taskEndOf(reply: string): TaskEnd {
  const { ok, error } = fieldsOf(reply);
  if (ok === true) return { kind: "success", output: within(reply, taskOutputBytesMax) };
  const code = isObject(error) && typeof error["code"] === "string" ? error["code"] : "internal_error";
  return { kind: "failure", error: code.slice(0, taskErrorLengthMax), cause: within(reply, taskCauseBytesMax) };
}

/**
 * The reply, or what fits of it into so many bytes of UTF-8: first the output goes, which the job's row has under the
 * jobId, then the metadata, then the story. An `outputRef` stays as long as it may.
 */
function within(reply: string, bytesMax: number): string {
  const whole = sqsJson(reply);
  if (fits(whole, bytesMax)) return whole;
  const { output: _output, ...told } = fieldsOf(reply);
  const { metadata: _metadata, ...bare } = told;
  const { jobId, ok, status, outputRef, error } = bare;
  const least = { jobId, ok, status, error: isObject(error) ? { code: error["code"] } : undefined };
  const lesser = [told, bare, { ...least, outputRef, error }, least].map((less) => sqsJson(JSON.stringify(less)));
  return lesser.find((text) => fits(text, bytesMax)) ?? "{}";
}

function fits(text: string, bytesMax: number): boolean {
  return new TextEncoder().encode(text).length <= bytesMax;
}

function fieldsOf(reply: string): JsonObject {
  const value = parseJson(reply);
  return isObject(value) ? value : {};
}

function isTold(entry: readonly [string, Json | undefined]): entry is [string, string] {
  return typeof entry[1] === "string" && entry[1] !== "";
}
