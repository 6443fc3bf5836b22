import type { Config } from "./config.ts";
import { isObject } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** Where a reply is announced beside the job table. */
export type ReplyTo =
  | { readonly kind: "sqs"; readonly queueUrl: string }
  | { readonly kind: "eventBus"; readonly name: string }
  | { readonly kind: "taskToken"; readonly token: string; readonly heartbeatSeconds?: number }
  | { readonly kind: "sns"; readonly topicArn: string };

/** Whether a deployment announces replies there; an `invalid` envelope's replyTo needs the answer too. */
export function isAllowed(replyTo: ReplyTo, allow: Config["replies"]["allow"]): boolean {
  switch (replyTo.kind) {
    case "sqs":
      return allow.sqs.includes(replyTo.queueUrl);
    case "eventBus":
      return allow.eventBuses.includes(replyTo.name);
    case "sns":
      return allow.sns.includes(replyTo.topicArn);
    case "taskToken":
      return allow.taskTokens;
  }
}

/** Exactly one destination as JSON spells it; undefined: it is none. */
export function readReplyTo(value: unknown): ReplyTo | undefined {
  if (!isObject(value)) return undefined;
  const { heartbeatSeconds, ...destination } = value;
  const [[name, to] = [], ...others] = Object.entries(destination);
  if (typeof to !== "string" || others.length > 0) return undefined;
  if (name === "taskToken") return taskTokenOf(to, heartbeatSeconds);
  if (heartbeatSeconds !== undefined) return undefined;
  if (name === "sqs") return /^https?:\/\/\S+$/.test(to) ? { kind: "sqs", queueUrl: to } : undefined;
  if (name === "sns") return /^arn:[\w-]+:sns:\S+$/.test(to) ? { kind: "sns", topicArn: to } : undefined;
  if (name === "eventBus") return /^[\w.:/-]+$/.test(to) ? { kind: "eventBus", name: to } : undefined;
  return undefined;
}

/** The one who waits in Step Functions; https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html */
export function taskTokenOf(token: string, heartbeatSeconds: Json | undefined): ReplyTo | undefined {
  if (token.length === 0 || token.length > 2_048) return undefined;
  if (heartbeatSeconds === undefined) return { kind: "taskToken", token };
  if (typeof heartbeatSeconds !== "number" || !Number.isSafeInteger(heartbeatSeconds) || heartbeatSeconds < 1)
    return undefined;
  return { kind: "taskToken", token, heartbeatSeconds };
}

/** The JSON of a destination; {@link readReplyTo} gives it back. */
export function encodeReplyTo(replyTo: ReplyTo): JsonObject {
  switch (replyTo.kind) {
    case "sqs":
      return { sqs: replyTo.queueUrl };
    case "eventBus":
      return { eventBus: replyTo.name };
    case "sns":
      return { sns: replyTo.topicArn };
    case "taskToken":
      return { taskToken: replyTo.token, heartbeatSeconds: replyTo.heartbeatSeconds };
  }
}

/** A destination as one text, the same wherever it is written: what a job's row remembers it by. */
export function replyToText(replyTo: ReplyTo): string {
  return JSON.stringify(encodeReplyTo(replyTo));
}

export function isAmong(replyTo: ReplyTo, others: readonly ReplyTo[]): boolean {
  return others.some((other) => replyToText(other) === replyToText(replyTo));
}

/** Where a queue, a bus or a topic is, as its URL or ARN names it. */
export interface Place {
  readonly region: string;
  readonly account: string;
  readonly name: string;
}

/** undefined: no ARN of an event bus. */
export function busPlaceOf(name: string): Place | undefined {
  return placeIn(/^arn:[\w-]+:events:([a-z0-9-]+):(\d{12}):event-bus\/([\w./-]{1,256})$/.exec(name));
}

/** Whether EventBridge knows it for a bus: by its name, or its ARN. */
export function isBus(name: string): boolean {
  return /^[\w./-]{1,256}$/.test(name) || busPlaceOf(name) !== undefined;
}

/** undefined: no ARN of a standard topic; a FIFO topic would want more than a message. */
export function topicPlaceOf(topicArn: string): Place | undefined {
  return placeIn(/^arn:[\w-]+:sns:([a-z0-9-]+):(\d{12}):([\w-]{1,256})$/.exec(topicArn));
}

function placeIn(found: RegExpExecArray | null): Place | undefined {
  const [, region, account, name] = found ?? [];
  return region === undefined || account === undefined || name === undefined ? undefined : { region, account, name };
}

/** undefined: no URL of a standard queue on AWS; a FIFO queue would want more than a message. */
export function queueNameOf(queueUrl: string): Place | undefined {
  return placeIn(/^https:\/\/sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\/(\d{12})\/([\w-]{1,80})$/.exec(queueUrl));
}
