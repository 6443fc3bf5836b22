import { mayRead, ops } from "./config.ts";
import type { Config, Op } from "./config.ts";
import { isJson, isObject, jsonLevelsMax, sqsJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { isLane } from "./lane.ts";
import type { Lane } from "./lane.ts";
import { nearest } from "./nearest.ts";
import { encodeReplyTo, isAllowed, readReplyTo } from "./reply-to.ts";
import type { ReplyTo } from "./reply-to.ts";
import { s3PlaceOf } from "./s3-place.ts";

/** The request without a model id, in the message or in S3. */
export type Params =
  | { readonly kind: "inline"; readonly params: JsonObject }
  | { readonly kind: "ref"; readonly bucket: string; readonly key: string };

/** The JSON that asks for a job, read and checked. */
export interface Envelope {
  readonly jobId: string;
  readonly model: string;
  readonly op: Op;
  readonly params: Params;
  readonly lane?: Lane;
  readonly deadlineAtMs?: number;
  readonly operation?: string;
  readonly tenant?: string;
  readonly fallback: "default" | "none" | readonly string[];
  readonly replyTo?: ReplyTo;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A fault of an envelope: which field, what is wrong with it and what to do. Never a value from the body. */
export interface Fault {
  readonly field: string;
  readonly message: string;
}

/** What a message's body turns out to be. Total: no body makes the reader throw. */
export type Read =
  | { readonly kind: "envelope"; readonly envelope: Envelope }
  /** The envelope is an object in S3 (S3 notification, extended client); fetch it and read again. */
  | { readonly kind: "pointer"; readonly bucket: string; readonly key: string }
  /** To be acknowledged without a word: `s3:TestEvent`. */
  | { readonly kind: "ignore"; readonly why: string }
  /** A readable jobId and another fault: the job can be answered. */
  | {
      readonly kind: "invalid";
      readonly jobId: string;
      readonly fault: Fault;
      readonly replyTo?: ReplyTo;
      readonly metadata?: Envelope["metadata"];
    }
  /** No envelope, or none whose job can be named: nobody could be answered but a task, whose token is its address. */
  | { readonly kind: "refused"; readonly fault: Fault; readonly replyTo?: ReplyTo };

export const jobIdLengthMax = 128;
const jobIdPattern = new RegExp(`^[A-Za-z0-9_.:/=+~-]{1,${jobIdLengthMax}}$`);

/** Ends the sentence of a fault. */
export const jobIdMust = `be a string of 1 to ${jobIdLengthMax} characters out of A-Z a-z 0-9 _ . : / = + ~ - (a number would lose digits)`;

export function isJobId(value: unknown): value is string {
  return typeof value === "string" && jobIdPattern.test(value);
}

/** Metadata rides in the job's row beside the reply, and a row holds 400 KB. Characters of its JSON. */
export const metadataLengthMax = 16_384;

/** Ten digits are seconds, which would let every job expire unseen: no deadline lies before March 1973. Epoch ms. */
const deadlineAtMsMin = 100_000_000_000;
const deadlineAtMsMax = 8_640_000_000_000_000;

/** A field of the JSON: its value as its type, or undefined for what it is not; `must` ends the sentence of its fault. */
interface Field<T> {
  readonly as: (value: Json) => T | undefined;
  readonly must: string;
}

/** Faults are looked for in this order. */
const fields = {
  jobId: {
    as: text(jobIdPattern),
    must: jobIdMust,
  },
  model: { as: stepName, must: "be an alias of the config, or alias@target; Bedrock's own id stands in the config" },
  op: { as: (value) => ops.find((op) => op === value), must: `be one of ${ops.join(", ")}` },
  params: {
    as: paramsOf,
    must: `be an object of at most ${jsonLevelsMax} levels, its numbers finite`,
  },
  paramsRef: { as: paramsRefOf, must: "be s3://bucket/key" },
  lane: {
    as: (value) => (isLane(value) ? value : undefined),
    must: "be one of rt, bg, bulk; leave it out for the lane of the queue",
  },
  deadlineAt: {
    as: instantOf,
    must: "be epoch milliseconds (13 digits, 10 would be seconds) or ISO 8601 with a zone, like 2026-11-29T12:00:00Z",
  },
  operation: {
    as: text(/^\P{Cc}{1,128}$/u),
    must: "be a string of 1 to 128 characters, none of them a control character",
  },
  tenant: { as: text(/^[!-~]{1,128}$/), must: "be a string of 1 to 128 ASCII letters, digits and punctuation marks" },
  fallback: { as: fallbackOf, must: 'be "default", "none" or a list of steps, each an alias or alias@target' },
  replyTo: {
    as: readReplyTo,
    must: 'be exactly one of {"sqs": queue URL}, {"eventBus": name}, {"taskToken": token, "heartbeatSeconds": whole number above 0, optional}, {"sns": topic ARN}',
  },
  metadata: {
    as: metadataOf,
    must: `be an object of strings, as JSON no longer than ${metadataLengthMax} characters`,
  },
} as const satisfies { readonly [name: string]: Field<unknown> };

type Fields = typeof fields;
const names = Object.keys(fields).filter((name): name is keyof Fields => Object.hasOwn(fields, name));
/** The fields that are there, each as its type. */
type Seen = { readonly [Name in keyof Fields]?: NonNullable<ReturnType<Fields[Name]["as"]>> };

/** Where people put what belongs elsewhere. */
const misplaced = ["messages", "system", "inferenceConfig", "toolConfig"].map((name) => `params.${name}`);
const destinations = ["sqs", "eventBus", "taskToken", "heartbeatSeconds", "sns"];
const meant = [...names, ...destinations.map((name) => `replyTo.${name}`), ...misplaced];

/**
 * Whether an object means to be an envelope, however damaged: it has a jobId, or a model with more of a request. What
 * AWS wraps around envelopes has neither; in its maps of message attributes a `jobId` is an object.
 */
export function meansToBeEnvelope(value: JsonObject): boolean {
  if (Object.hasOwn(value, "jobId") && !isObject(value["jobId"])) return true;
  return Object.hasOwn(value, "model") && ["op", "params", "paramsRef"].some((name) => Object.hasOwn(value, name));
}

/**
 * Reads an envelope, strictly: an unknown field is refused, for a typo must not silently change what a job does. With a
 * readable jobId a fault makes it `invalid`, and the job can be answered; else `refused`. The first fault is the one told.
 */
export function readEnvelope(value: unknown): Read {
  if (!isObject(value))
    return { kind: "refused", fault: faultOf("body", "must be a JSON object, the envelope of a job") };
  const seen = see(value);
  const read = unknownOrWrong(value, seen) ?? complete(seen);
  if (!("message" in read)) return { kind: "envelope", envelope: read };

  const { jobId, replyTo, metadata } = seen;
  const waiting = replyTo === undefined ? {} : { replyTo };
  if (jobId === undefined) return { kind: "refused", fault: read, ...waiting };
  const echoed = metadata === undefined ? {} : { metadata };
  return { kind: "invalid", jobId, fault: read, ...waiting, ...echoed };
}

/** The JSON of an envelope; {@link readEnvelope} gives the same envelope back. */
export function encode(envelope: Envelope): string {
  const { params, deadlineAtMs, replyTo, ...same } = envelope;
  const json = JSON.stringify({
    ...same,
    ...(params.kind === "inline" ? { params: params.params } : { paramsRef: `s3://${params.bucket}/${params.key}` }),
    deadlineAt: deadlineAtMs,
    ...(replyTo === undefined ? {} : { replyTo: encodeReplyTo(replyTo) }),
  });
  return sqsJson(json);
}

/** What only the deployment's config can find wrong with an envelope. */
export function checkAgainst(envelope: Envelope, config: Config): Fault | undefined {
  const { params, replyTo } = envelope;
  if (params.kind === "ref" && !mayRead(config, params))
    return faultOf(
      "paramsRef",
      "names a bucket that this deployment does not read; add it to paramsRef.buckets in its config",
    );
  if (replyTo !== undefined && !isAllowed(replyTo, config.replies.allow))
    return faultOf(
      "replyTo",
      "names a destination that this deployment does not allow; add it to replies.allow in its config",
    );
  return undefined;
}

/** The message says all: field, fault, remedy. Names of fields are ours or checked; values never get in. */
export function faultOf(field: string, what: string): Fault {
  return { field, message: `${field} ${what}` };
}

/** The fields that are there and right. */
function see(body: JsonObject): Seen {
  const right = names.flatMap((name) => {
    const value = body[name];
    const seen = value === undefined ? undefined : fields[name].as(value);
    return seen === undefined ? [] : [[name, seen]];
  });
  const seen: Seen = Object.fromEntries(right);
  return seen;
}

/** An unknown name comes first, because a typo explains what is missing. */
function unknownOrWrong(body: JsonObject, seen: Seen): Fault | undefined {
  const unknown = unknownIn(body, names, "") ?? unknownIn(body["replyTo"], destinations, "replyTo.");
  if (unknown !== undefined) return unknown;
  const wrong = names.find((name) => body[name] !== undefined && seen[name] === undefined);
  return wrong && faultOf(wrong, `must ${fields[wrong].must}`);
}

function complete(seen: Seen): Envelope | Fault {
  const { jobId, model, op, params, paramsRef, deadlineAt, ...same } = seen;
  if (jobId === undefined) return missing("jobId");
  if (model === undefined) return missing("model");
  if (op === undefined) return missing("op");
  const request = params ?? paramsRef;
  if (request === undefined)
    return faultOf("params", "is missing; give the Bedrock request, or its place as paramsRef");
  if (params !== undefined && paramsRef !== undefined)
    return faultOf("paramsRef", "stands beside params; keep one of the two");
  return {
    fallback: "default",
    metadata: {},
    ...same,
    ...(deadlineAt === undefined ? {} : { deadlineAtMs: deadlineAt }),
    jobId,
    model,
    op,
    params: request,
  };
}

function missing(name: keyof Fields): Fault {
  return faultOf(name, `is missing; it must ${fields[name].must}`);
}

function unknownIn(value: Json | undefined, known: readonly string[], path: string): Fault | undefined {
  const name = isObject(value) ? Object.keys(value).find((key) => !known.includes(key)) : undefined;
  if (name === undefined) return undefined;
  // A name may hold anything, a prompt too: only what looks like one is repeated.
  if (!/^[\w.$-]{1,64}$/.test(name)) return faultOf(`${path}?`, "stands for a field with an odd name; leave it out");
  const better = nearest(name, path === "" ? meant : known.map((field) => path + field));
  return faultOf(
    path + name,
    better === undefined ? "is no field; leave it out" : `is no field; did you mean ${better}?`,
  );
}

function text(pattern: RegExp): (value: Json) => string | undefined {
  return (value) => (typeof value === "string" && pattern.test(value) ? value : undefined);
}

/** Of such names as a config can hold: one that none can, a Bedrock id above all, need not wait for another worker. */
function stepName(value: Json): string | undefined {
  return text(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(@[A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$/)(value);
}

function paramsOf(value: Json): Params | undefined {
  return isObject(value) && isJson(value) ? { kind: "inline", params: value } : undefined;
}

function paramsRefOf(value: Json): Params | undefined {
  const place = typeof value === "string" ? s3PlaceOf(value) : undefined;
  return place && { kind: "ref", ...place };
}

function instantOf(value: Json): number | undefined {
  const atMs = typeof value === "string" ? iso8601Ms(value) : value;
  if (typeof atMs !== "number" || !Number.isSafeInteger(atMs)) return undefined;
  return atMs >= deadlineAtMsMin && atMs <= deadlineAtMsMax ? atMs : undefined;
}

/** NaN: no such instant. `Date.parse` alone takes the 30th of February for the 2nd of March, and local times. */
function iso8601Ms(value: string): number {
  const [, year, month, day] =
    // mutant: without `^`: what Date.parse reads begins with the year, too.
    // mutant: without `$`: and ends with the zone.
    /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.exec(value) ?? [];
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  return new Date(dayMs).getUTCDate() === Number(day) ? Date.parse(value) : Number.NaN;
}

function fallbackOf(value: Json): Envelope["fallback"] | undefined {
  if (value === "default" || value === "none") return value;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const steps = value.map(stepName).filter((step) => step !== undefined);
  return steps.length === value.length ? steps : undefined;
}

function metadataOf(value: Json): Envelope["metadata"] | undefined {
  return isObject(value) && holdsStrings(value) && JSON.stringify(value).length <= metadataLengthMax
    ? value
    : undefined;
}

function holdsStrings(value: JsonObject): value is Readonly<Record<string, string>> {
  return Object.values(value).every((inner) => typeof inner === "string");
}
