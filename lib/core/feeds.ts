import { faultOf, meansToBeEnvelope, readEnvelope } from "./envelope.ts";
import type { Fault, Read } from "./envelope.ts";
import { isObject, parseJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { taskTokenOf } from "./reply-to.ts";
import type { ReplyTo } from "./reply-to.ts";
import { isS3Place } from "./s3-place.ts";

/** How many wrappings are taken off, each told by its shape, before a body counts as no envelope. */
export const layersMax = 4;

/** What a value turns out to be; `nothing`: neither an envelope nor the place of one, and none inside. */
type Looked = Read | { readonly kind: "nothing"; readonly fault: Fault; readonly replyTo?: ReplyTo };

/** Reads a message's body, whatever service put it there. Total: it never throws. */
export function readBody(body: string): Read {
  const looked = lookInText(body, "body", layersMax);
  return looked.kind === "nothing" ? { ...looked, kind: "refused" } : looked;
}

/** Reads the object that a pointer named. It must hold the envelope: a chain of pointers could be endless. */
export function readObject(text: string): Exclude<Read, { kind: "pointer" | "ignore" }> {
  const read = readBody(text);
  if (read.kind !== "pointer" && read.kind !== "ignore") return read;
  return refused("body", "names an object that holds a notification; store the envelope itself there");
}

function lookInText(text: string, field: string, layersLeft: number): Looked {
  const value = parseJson(text);
  if (value !== undefined) return look(value, layersLeft);
  // Unencoded by API Gateway, a body ends at its first ampersand.
  return nothing(field, "is not JSON, or only the beginning of it; API Gateway must send $util.urlEncode($input.body)");
}

function look(value: Json, layersLeft: number): Looked {
  const read = isObject(value) ? readBare(value) : extendedClientPointer(value);
  if (read !== undefined) return read;
  if (layersLeft === 0) return isObject(value) ? answering(noEnvelope, taskTokenIn(value)) : noEnvelope;
  if (typeof value === "string") return lookInText(value, "body", layersLeft - 1);
  return isObject(value) ? lookInside(value, layersLeft - 1) : noEnvelope;
}

/** Services that wrap have one place for what they were given, and others (attributes) that may resemble an envelope. */
function lookInside(value: JsonObject, layersLeft: number): Looked {
  if (value["Type"] === "Notification") return lookUnder("Message", value, layersLeft);
  if (value["eventSource"] === "aws:sqs") return lookUnder("body", value, layersLeft);
  if (value["detail-type"] !== undefined) {
    const looked = lookUnder("detail", value, layersLeft);
    return looked.kind === "nothing" && value["detail-type"] === "Scheduled Event" ? emptySchedule : looked;
  }

  // A transformer or a state machine: its author chose the key.
  return answering(only(value, layersLeft), taskTokenIn(value));
}

/** The one thing that lies under the keys; two are too many, and a megabyte holds fifty thousand. */
function only(value: JsonObject, layersLeft: number): Looked {
  let one: Looked = noEnvelope;
  for (const key of Object.keys(value)) {
    // mutant: `!mayHold(value[key])` → `false`: it takes longer, no more.
    if (!mayHold(value[key])) continue;
    const looked = lookUnder(key, value, layersLeft);
    if (one.kind !== "nothing" && looked.kind !== "nothing")
      return answering(severalEnvelopes, waitingIn(one) ?? waitingIn(looked));
    if (looked.kind !== "nothing") one = looked;
    else if (one.kind === "nothing") one = answering(one, looked.replyTo);
  }
  return one;
}

/** A megabyte of short texts, each tried as JSON, would keep the other records of the batch waiting for a second. */
function mayHold(value: Json | undefined): boolean {
  // mutant: `isObject(value) || Array.isArray(value)` → `true`: a number is looked at in no time.
  if (typeof value !== "string") return isObject(value) || Array.isArray(value);
  const text = value.trim();
  return ["{}", "[]", '""'].includes(text.slice(0, 1) + text.slice(-1));
}

/** JSON text under a key is one layer, not two. */
function lookUnder(key: string, value: JsonObject, layersLeft: number): Looked {
  const inner = value[key];
  if (inner === undefined) return noEnvelope;
  return typeof inner === "string" ? lookInText(inner, key, layersLeft) : look(inner, layersLeft);
}

/** What needs no unwrapping. An object that means to be an envelope is one, whatever else it looks like. */
function readBare(value: JsonObject): Looked | undefined {
  if (meansToBeEnvelope(value)) {
    const read = readEnvelope(value);
    // A token among the envelope's own fields is a mistake; whoever waits by it is told.
    return read.kind === "envelope" ? read : answering(read, taskTokenIn(value));
  }
  // Acknowledged, what is more than the test event would be lost.
  if (value["Event"] === "s3:TestEvent" && !Object.values(value).some(mayHold))
    return { kind: "ignore", why: "s3:TestEvent" };
  if (value["Type"] === "SubscriptionConfirmation" || value["Type"] === "UnsubscribeConfirmation")
    return refused(
      "Type",
      "is an SNS handshake, whose URL is never fetched; confirm the subscription from its owner's account",
    );
  if (Array.isArray(value["Records"])) return answering(s3Pointer(value["Records"]), taskTokenIn(value));
  if (value["source"] === "aws.s3") return answering(s3EventPointer(value), taskTokenIn(value));
  return undefined;
}

/**
 * An S3 notification: keys are form-encoded. Several records would be several jobs with one message to answer for them
 * all, so the whole is refused, and kept, rather than any of them lost.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
 */
function s3Pointer(records: readonly Json[]): Read {
  const [record, ...others] = records;
  if (others.length > 0) return refused("Records", "holds more than one object; send a message for each job");
  if (!isObject(record) || typeof record["eventName"] !== "string")
    return refused("Records", "is not from S3; send the envelope itself");
  if (!/^(s3:)?ObjectCreated:/.test(record["eventName"])) return notCreated("eventName");
  return pointer(within(record["s3"], "bucket", "name"), formDecoded(within(record["s3"], "object", "key")));
}

/** The same by way of EventBridge, where keys are plain; https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html */
function s3EventPointer(event: JsonObject): Read {
  const detail = event["detail"];
  if (event["detail-type"] !== "Object Created") return notCreated("detail-type");
  return pointer(within(detail, "bucket", "name"), within(detail, "object", "key"));
}

/** What the SQS and SNS extended clients send for a body in S3: the name of a Java class and the place. */
function extendedClientPointer(value: Json): Read | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [name, place]: readonly Json[] = value;
  if (typeof name !== "string" || !/\.(PayloadS3Pointer|MessageS3Pointer)$/.test(name) || !isObject(place))
    return undefined;
  return pointer(place["s3BucketName"], place["s3Key"]);
}

function pointer(bucket: Json | undefined, key: Json | undefined): Read {
  const named = typeof bucket === "string" && typeof key === "string" && isS3Place(bucket, key);
  if (named) return { kind: "pointer", bucket, key };
  return refused(
    "body",
    "points to S3 without a readable bucket and key; name a bucket, and a key of 1 to 1,024 bytes of UTF-8",
  );
}

function formDecoded(key: Json | undefined): string | undefined {
  if (typeof key !== "string") return undefined;
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function within(value: Json | undefined, outer: string, inner: string): Json | undefined {
  const object = isObject(value) ? value[outer] : undefined;
  return isObject(object) ? object[inner] : undefined;
}

/**
 * A Step Functions task token beside an envelope, known by its own beginning, for its key is the author's choice, or by
 * a key that says so, for engines other than AWS make other tokens.
 */
function taskTokenIn(value: JsonObject): ReplyTo | undefined {
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const [, token] =
    texts.find(([, text]) => /^.{0,8}AAAAKgAAAA/.test(text)) ??
    texts.find(([key]) => /(^|task|callback)[-_ ]?token$/i.test(key)) ??
    [];
  return token === undefined
    ? undefined
    : (taskTokenOf(token, value["heartbeatSeconds"]) ?? taskTokenOf(token, undefined));
}

/** Whoever waits by a task token hears of the job, and of its faults. Nothing else may be named beside it. */
function answering(looked: Looked, waiting: ReplyTo | undefined): Looked {
  if (waiting === undefined) return looked;
  switch (looked.kind) {
    case "envelope": {
      const { envelope } = looked;
      if (envelope.replyTo === undefined) return { kind: "envelope", envelope: { ...envelope, replyTo: waiting } };
      const fault = faultOf("replyTo", "stands beside a task token; keep one of the two");
      const { jobId, metadata } = envelope;
      return { kind: "invalid", jobId, fault, replyTo: waiting, metadata };
    }
    case "invalid":
    case "refused":
    case "nothing":
      return { ...looked, replyTo: waiting };
    case "pointer":
    case "ignore": {
      const fault = faultOf("body", "holds a task token beside a notification; send the envelope itself");
      return { kind: "refused", fault, replyTo: waiting };
    }
  }
}

function waitingIn(looked: Looked): ReplyTo | undefined {
  if (looked.kind === "envelope") return looked.envelope.replyTo;
  return "replyTo" in looked ? looked.replyTo : undefined;
}

const severalEnvelopes = refused("body", "holds more than one envelope; send a message for each job");

const noEnvelope = nothing(
  "body",
  `holds no envelope, not within ${layersMax} layers either; send an object with jobId, model, op and params`,
);
const emptySchedule = nothing(
  "detail",
  "is empty in a schedule's own event; give the schedule the envelope as its input",
);

function nothing(field: string, what: string): Looked {
  return { kind: "nothing", fault: faultOf(field, what) };
}

function refused(field: string, what: string): Extract<Read, { kind: "refused" }> {
  return { kind: "refused", fault: faultOf(field, what) };
}

function notCreated(field: string): Read {
  return refused(field, "is not about a created object; let the notification choose s3:ObjectCreated:* alone");
}
