import { z } from "zod";
import { ops } from "../core/config.ts";
import { isObject } from "../core/json.ts";
import { nearest } from "../core/nearest.ts";

/**
 * What the stand-in for Bedrock does, as JSON; the Models port in memory plays the same scripts. All of it optional:
 * `{}` answers every call at once.
 *
 * ```json
 * {
 *   "seed": 7,
 *   "latency": { "meanMs": 900, "sigma": 0.4 },
 *   "limits": [
 *     { "modelId": "us.amazon.nova-lite-v1:0", "region": "us-west-2", "max": 12, "retryAfter": "2" }
 *   ],
 *   "rules": [
 *     { "when": { "modelId": "us.amazon.*", "region": "us-east-1", "fromMs": 5000, "toMs": 20000 },
 *       "do": { "kind": "fail", "error": "unavailable" } },
 *     { "when": { "jobId": "order-*", "nth": { "to": 2, "of": "job" } },
 *       "do": { "kind": "fail", "error": "throttled", "retryAfter": "3" } },
 *     { "when": { "op": "converse_stream", "percent": 5 },
 *       "do": { "kind": "stream-error", "error": "stream", "afterEvents": 2 }, "latency": 200 }
 *   ]
 * }
 * ```
 *
 * `seed`: of everything random. `latency`: lognormal, or a number of ms. `limits`: calls in flight at one `modelId` in one
 * region; above, a call is throttled. `rules`: the first whose `when` holds decides; none: a plain answer.
 *
 * `when`: `modelId`, `region`, `jobId` are exact, or begin so if they end in `*`; `op`; `fromMs` and `toMs` count from
 * the moment the script was loaded; `nth` counts, from 1, the calls that came as far as this rule (`of: "job"`: of one
 * job), a number or a range; `percent` throws seeded dice.
 *
 * `do`: see `effect`. A named error is one of `faults`, in Bedrock's own words; else it is written out.
 */
const text = z.string().min(1);
const ms = z.number().min(0);
const count = z.number().int().min(1);
const json = z.record(z.string(), z.json());

const latency = z.union([ms, z.strictObject({ meanMs: ms, sigma: z.number().min(0).max(3).default(0.5) })], {
  error: "must be ms, or an object with meanMs and sigma (0 to 3)",
});

/** Errors as Bedrock words them. */
export const faults = {
  throttled: [429, "ThrottlingException", "Too many requests, please wait before trying again."],
  connections: [503, "ServiceUnavailableException", "Too many connections, please wait before trying again."],
  daily: [429, "ThrottlingException", "Too many tokens per day, please wait before trying again."],
  quota: [400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account."],
  "not-ready": [429, "ModelNotReadyException", "Model is not ready for inference. Wait and try your request again."],
  internal: [
    500,
    "InternalServerException",
    "The system encountered an unexpected error during processing. Try your request again.",
  ],
  unavailable: [503, "ServiceUnavailableException", "Bedrock is unable to process your request."],
  overloaded: [529, "OverloadedException", "Overloaded"],
  "model-timeout": [
    408,
    "ModelTimeoutException",
    "Model has timed out in processing the request. Try your request again.",
  ],
  model: [424, "ModelErrorException", "The model returned an error while it processed the request."],
  stream: [424, "ModelStreamErrorException", "The model returned an error while it streamed its answer."],
  denied: [403, "AccessDeniedException", "You don't have access to the model with the specified model ID."],
  expired: [403, "ExpiredTokenException", "The security token included in the request is expired"],
  missing: [
    404,
    "ResourceNotFoundException",
    "Could not resolve the foundation model from the provided model identifier.",
  ],
  "use-case": [
    404,
    "ResourceNotFoundException",
    "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form before using the model.",
  ],
  "on-demand": [
    400,
    "ValidationException",
    "Invocation of model ID with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
  ],
  "invalid-model": [400, "ValidationException", "The provided model identifier is invalid."],
  "too-long": [400, "ValidationException", "Input is too long for requested model."],
  "no-count": [400, "ValidationException", "The provided model doesn't support counting tokens."],
  invalid: [400, "ValidationException", "Malformed input request, please reformat your input and try again."],
} as const satisfies Record<string, readonly [status: number, name: string, message: string]>;

const faultNames = Object.keys(faults).filter((name): name is keyof typeof faults => name in faults);

const fault = {
  error: z.union(
    [
      z.enum(faultNames),
      z.strictObject({ status: z.number().int().min(300).max(599), name: text, message: z.string() }),
    ],
    { error: ({ input }) => `${oneOf(faultNames, input)} or an object with status, name and message` },
  ),
  /** Sent as the headers of that name. */
  retryAfter: text.optional(),
  xAmzRetryAfter: text.optional(),
  /** Sent in the body. */
  expectedQueueDelayInMs: z.number().optional(),
  originalStatusCode: z.number().int().optional(),
};

/** How much of an answer went out: nothing, its headers, or a part of its body. */
const after = z.enum(["nothing", "headers", "part"]).default("nothing");

/** Content blocks as Converse answers them, or the model's own body for invoke_model. */
const answer = {
  content: z.array(json).optional(),
  body: json.optional(),
  stopReason: text.optional(),
  inputTokens: z.number().int().min(0).optional(),
  outputTokens: z.number().int().min(0).optional(),
};

const effect = z.discriminatedUnion("kind", [
  /** Absent parts are made up from a hash of the request; nothing of the prompt comes back. */
  z.strictObject({ kind: z.literal("answer"), ...answer }),
  z.strictObject({ kind: z.literal("fail"), ...fault }),
  /** An error event inside a 200 stream, after some of its events; the other ops fail as with `fail`. */
  z.strictObject({ kind: z.literal("stream-error"), ...fault, afterEvents: z.number().int().min(0).default(2) }),
  /** The connection stays open and nothing more comes. */
  z.strictObject({ kind: z.literal("hang"), after }),
  /** The connection breaks. */
  z.strictObject({ kind: z.literal("reset"), after }),
  /** The answer in this many pieces, one each `everyMs`. */
  z.strictObject({ kind: z.literal("trickle"), everyMs: ms, pieces: count.default(10), ...answer }),
  /** A 200 whose body is no JSON, a stream whose frame has a wrong checksum. */
  z.strictObject({ kind: z.literal("malformed") }),
  /** A stream that ends in order, but before messageStop; the other ops lose the end of their body. */
  z.strictObject({ kind: z.literal("truncated") }),
]);

const nth = z.union(
  [
    count,
    z.strictObject({ from: count.default(1), to: count.optional(), of: z.enum(["rule", "job"]).default("rule") }),
  ],
  { error: "must be a whole number from 1, or an object with from, to and of" },
);

const rule = z.strictObject({
  when: z
    .strictObject({
      modelId: text.optional(),
      region: text.optional(),
      jobId: text.optional(),
      op: z.enum([...ops, "count_tokens"]).optional(),
      fromMs: ms.optional(),
      toMs: ms.optional(),
      nth: nth.optional(),
      percent: z.number().min(0).max(100).optional(),
    })
    .default({}),
  do: effect,
  latency: latency.optional(),
});

const limit = z.strictObject({
  modelId: text,
  region: text.optional(),
  max: z.number().int().min(0),
  retryAfter: text.optional(),
});

const script = z.strictObject({
  seed: z.number().int().default(1),
  latency: latency.default(0),
  limits: z.array(limit).default([]),
  rules: z.array(rule).default([]),
});

const effects = effect.options.map(({ shape }) => shape.kind.value);

export type Latency = z.output<typeof latency>;
export type Effect = z.output<typeof effect>;
export type Answer = Extract<Effect, { kind: "answer" | "trickle" }>;
export type Faulty = Extract<Effect, { kind: "fail" | "stream-error" }>;
export type Rule = z.output<typeof rule>;
export type Script = z.output<typeof script>;
/** A script as written, before its defaults. */
export type ScriptText = z.input<typeof script>;

/** Problems name their place, what is allowed there and what may have been meant: `rules[2].do.kind: …`. */
export function readScript(
  written: unknown,
):
  | { readonly kind: "script"; readonly script: Script }
  | { readonly kind: "refused"; readonly problems: readonly string[] } {
  const read = script.safeParse(written, { error: phrase });
  if (read.success) return { kind: "script", script: read.data };
  return { kind: "refused", problems: read.error.issues.map(({ path, message }) => `${place(path)}: ${message}`) };
}

/** @throws Error with the places of what is wrong. */
export function scriptFrom(written: unknown): Script {
  const read = readScript(written);
  if (read.kind === "refused") throw new Error(read.problems.join("; "));
  return read.script;
}

/** What is wrong, wherever the schema does not say it itself. */
function phrase(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "unrecognized_keys") {
    const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
    return issue.keys.map((key) => `${key} is no field; ${meantOrKnown(key, known)}`).join(" ");
  }
  // The kind of an effect is told at its own place, but with the whole effect.
  if (issue.code === "invalid_union") return isObject(issue.input) ? oneOf(effects, issue.input["kind"]) : undefined;
  if (issue.code === "invalid_value") return oneOf(issue.values.map(String), issue.input);
  if (issue.code === "invalid_type")
    return issue.input === undefined ? "is missing" : `must be of type ${issue.expected}`;
  if (issue.code === "too_small") {
    return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
  }
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  return undefined;
}

function oneOf(allowed: readonly string[], input: unknown): string {
  const meant = typeof input === "string" ? nearest(input, allowed) : undefined;
  return `must be one of ${allowed.join(", ")}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function meantOrKnown(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? `known: ${known.join(", ")}` : `did you mean ${meant}?`;
}

function place(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return steps === "" ? "script" : steps.replace(/^\./, "");
}

/** What the script says of the answer's content, if anything. */
export function answerIn(scripted: Effect): Partial<Answer> {
  return scripted.kind === "answer" || scripted.kind === "trickle" ? scripted : {};
}
