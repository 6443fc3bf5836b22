import type { Op } from "./config.ts";
import type { JsonObject } from "./json.ts";
import type { Lane } from "./lane.ts";

/** Where a reply is announced beside the job table. */
export type ReplyTo =
  | { readonly kind: "sqs"; readonly queueUrl: string }
  | { readonly kind: "eventBus"; readonly name: string }
  | { readonly kind: "taskToken"; readonly token: string; readonly heartbeatSeconds?: number }
  | { readonly kind: "sns"; readonly topicArn: string };

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
  | { readonly kind: "invalid"; readonly jobId: string; readonly fault: Fault; readonly replyTo?: ReplyTo }
  /** No envelope: nobody could be answered. */
  | { readonly kind: "refused"; readonly fault: Fault };
