import type {
  ConverseCommandInput,
  ConverseCommandOutput,
  ConverseStreamCommandInput,
} from "@aws-sdk/client-bedrock-runtime";
import type { Op } from "../core/config.ts";
import type { JsonObject } from "../core/json.ts";
import type { Lane } from "../core/lane.ts";
import type { Reply } from "../core/reply.ts";

/** The request of each operation. A model id has no place in it: the worker names the model, step by step. */
export interface ParamsOf {
  readonly converse: Omit<ConverseCommandInput, "modelId">;
  readonly converse_stream: Omit<ConverseStreamCommandInput, "modelId">;
  /** Whatever the model's own format asks for: a JSON object. */
  readonly invoke_model: AnyObject;
}

/** Of an interface as of a literal's type; a list, a map or a promise that nobody awaited is no JSON object. */
type AnyObject =
  | { readonly [key: string]: unknown }
  | (object & { readonly [Symbol.iterator]?: never; readonly then?: never });

/** The answer of each operation. A stream is read whole by the worker, so its answer has the shape of Converse's. */
export interface OutputOf {
  readonly converse: OverTheWire<Omit<ConverseCommandOutput, "$metadata">>;
  readonly converse_stream: OverTheWire<Omit<ConverseCommandOutput, "$metadata">>;
  readonly invoke_model: JsonObject;
}

/** An SDK type as JSON carries it: bytes are base64 text. */
export type OverTheWire<T> = T extends Uint8Array
  ? string
  : T extends object
    ? { readonly [K in keyof T]: OverTheWire<T[K]> }
    : T;

interface Destinations {
  readonly sqs: string;
  readonly eventBus: string;
  readonly taskToken: string;
  readonly sns: string;
}

type Only<Name extends keyof Destinations> = Pick<Destinations, Name> & {
  readonly [Other in Exclude<keyof Destinations, Name>]?: never;
};

interface NoTask {
  readonly heartbeatSeconds?: never;
}

/** Where the reply is announced, beside the job table: one of them. */
export type ReplyTo =
  | (Only<"sqs"> & NoTask)
  | (Only<"eventBus"> & NoTask)
  | (Only<"sns"> & NoTask)
  | (Only<"taskToken"> & { readonly heartbeatSeconds?: number });

interface Asked<O extends Op> {
  /** 1–128 of `A-Za-z0-9_.:/=+~-`. The same id with the same content is the same job, however often it is sent. */
  readonly jobId: string;
  /** An alias of the config, `fast-text`, or one of its targets, `fast-text@us-west-2`. */
  readonly model: string;
  readonly op: O;
  /** Decides the queue; `bg` without it. */
  readonly lane?: Lane;
  /** Epoch ms, or ISO 8601 with zone. */
  readonly deadlineAt?: number | string;
  /** A label of the config with a limit of its own. */
  readonly operation?: string;
  /** Also sent as MessageGroupId, so that SQS shares the queue fairly between tenants. */
  readonly tenant?: string;
  readonly fallback?: "default" | "none" | readonly string[];
  readonly replyTo?: ReplyTo;
  /** Comes back in the reply, but for what a cancel or the sweeper ends: the jobId alone is in every reply. */
  readonly metadata?: Readonly<Record<string, string>>;
}

type Request<P> =
  | { readonly params: P; readonly paramsRef?: never }
  /** `s3://bucket/key` of the request; the bucket is one that the deployment's config allows. */
  | { readonly paramsRef: string; readonly params?: never };

export type JobOf<O extends Op> = Asked<O> & Request<ParamsOf[O]>;

/** A job that is called in this process: whoever calls has the reply in hand, and the params. `lane`: `rt` without it. */
export type CallOf<O extends Op> = Omit<Asked<O>, "replyTo"> & { readonly params: ParamsOf[O] };

/** What a sender asks for: the envelope, with `op` deciding the type of `params`. */
export type Job = { readonly [O in Op]: JobOf<O> }[Op];

declare const opOfJob: unique symbol;

/** A job's id that remembers, for the compiler alone, what kind of output its reply will hold. */
export type JobId<O extends Op = Op> = string & { readonly [opOfJob]?: O };

/** The final reply, its output typed by the operation. */
export type ReplyOf<O extends Op> = TypedOutput<Reply, OutputOf[O]>;

type TypedOutput<R, Output> = R extends { readonly output: unknown }
  ? Omit<R, "output"> & { readonly output: Output }
  : R;
