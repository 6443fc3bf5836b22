import { digest } from "../aws/digest.ts";
import { encode, faultOf, readEnvelope } from "../core/envelope.ts";
import type { Envelope, Fault } from "../core/envelope.ts";
import { contentOf } from "../core/job.ts";
import { isObject, sqsJson } from "../core/json.ts";
import type { Lane } from "../core/lane.ts";
import { objectBytesMax, paramsPrefix, sqsMessageBytesMax } from "../core/limits.ts";
import { toJson } from "./to-json.ts";

/** Params above this go to S3: what is left of a message's 1 MiB is for the rest of the envelope. UTF-8 bytes. */
const paramsInlineBytesMax = 900_000;

/** A job as it goes to SQS. */
export interface Message {
  readonly jobId: string;
  readonly lane: Lane;
  readonly body: string;
  readonly groupId?: string;
  /** What SQS counts, UTF-8: body and attributes; there are none of these. */
  readonly bytes: number;
}

/** Params on their way to S3, before the message that points at them. */
export interface Upload {
  readonly bucket: string;
  readonly key: string;
  readonly text: string;
}

export type Prepared =
  | { readonly kind: "ready"; readonly message: Message; readonly upload?: Upload }
  | { readonly kind: "refused"; readonly fault: Fault };

/** Checks a job as the worker will, so that a fault is told to the one who can mend it. Nothing is sent. */
export function prepare(job: unknown, bucket: string | undefined): Prepared {
  const faults: Fault[] = [];
  const asked = isObject(job) ? toJson(job, faults) : null;
  const [fault] = faults;
  if (fault !== undefined) return { kind: "refused", fault };

  const read = readEnvelope(asked);
  switch (read.kind) {
    case "envelope":
      return fit(read.envelope, bucket);
    case "invalid":
    case "refused":
      return { kind: "refused", fault: read.fault };
    case "pointer":
    case "ignore":
      return { kind: "refused", fault: faultOf("body", "is an event about a job; give the job itself") };
  }
}

/** The id of whatever was given for a job; empty: it has none. */
export function idIn(job: unknown): string {
  return isObject(job) && typeof job["jobId"] === "string" ? job["jobId"] : "";
}

/** An envelope that has no fault, as a message; params that are too big for one go to the bucket. */
export function fit(envelope: Envelope, bucket: string | undefined): Prepared {
  if (envelope.params.kind === "ref") return sized(envelope);
  const text = JSON.stringify(envelope.params.params);
  const objectBytes = Buffer.byteLength(text);
  if (objectBytes > objectBytesMax) {
    const what = `has ${objectBytes} bytes and a worker reads ${objectBytesMax}; shorten it, or let it name its files in S3 where the model takes that (s3Location)`;
    return { kind: "refused", fault: faultOf("params", what) };
  }
  const bytes = Buffer.byteLength(sqsJson(text));
  if (bytes <= paramsInlineBytesMax) return sized(envelope);
  if (bucket === undefined) {
    const what = `has ${bytes} bytes and a message takes ${paramsInlineBytesMax}; give the client a bucket, or store it in S3 and send paramsRef`;
    return { kind: "refused", fault: faultOf("params", what) };
  }
  const key = keyOf(envelope);
  return sized({ ...envelope, params: { kind: "ref", bucket, key } }, { bucket, key, text });
}

/** Named by the content: a job that is sent again points at the same object, and so stays the same job. */
function keyOf(envelope: Envelope): string {
  return `${paramsPrefix}${digest(contentOf(envelope))}.json`;
}

function sized(envelope: Envelope, upload?: Upload): Prepared {
  const { jobId, lane = "bg", tenant } = envelope;
  const body = encode(envelope);
  const bytes = Buffer.byteLength(body);
  if (bytes > sqsMessageBytesMax) {
    const what = `has ${bytes} bytes and SQS takes ${sqsMessageBytesMax}; shorten fallback, replyTo or metadata`;
    return { kind: "refused", fault: faultOf("body", what) };
  }
  return {
    kind: "ready",
    message: { jobId, lane, body, bytes, ...(tenant === undefined ? {} : { groupId: tenant }) },
    ...(upload === undefined ? {} : { upload }),
  };
}
