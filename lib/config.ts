import * as z from "zod";
import { problemsIn } from "./core/config-problems.ts";
import type { Problem } from "./core/config-problems.ts";
import { features, ops, serviceTiers } from "./core/config.ts";
import type { Config, LaneConfig, ModelConfig } from "./core/config.ts";
import type { Lane } from "./core/lane.ts";
import { laneLimits, replyInlineBytesMax, replyTtlDaysDefault } from "./core/limits.ts";
import { nearest } from "./core/nearest.ts";
import { readModelId } from "./core/model-id.ts";
import { isBus, queueNameOf, topicPlaceOf } from "./core/reply-to.ts";

/** What a person writes: the models, and whatever else shall differ from the defaults. */
export interface ConfigInput {
  readonly models: Readonly<Record<string, ModelConfig>>;
  /** Limits by the envelope's `operation`. */
  readonly operations?: Config["operations"];
  /** Limits that several targets share, named by their `quotaGroup`. */
  readonly quotaGroups?: Config["quotaGroups"];
  /** A limit over everything. */
  readonly global?: { readonly limitMax: number };
  readonly lanes?: Readonly<Partial<Record<Lane, LaneConfig>>>;
  readonly replies?: {
    /** Days that a reply, and a big output in S3, is kept after its job's end. Default 7, at least 2. */
    readonly ttlDays?: number;
    /** An output above this goes to S3. Default 32,768. */
    readonly inlineBytesMax?: number;
    /**
     * Where replies may be announced: URLs of queues, names or ARNs of event buses, ARNs of topics, task tokens of Step
     * Functions. Default: nowhere.
     */
    readonly allow?: Partial<Config["replies"]["allow"]>;
  };
  /** ARNs of the guardrails that jobs may name in their params; of one that is asked across regions its profile's too. Default: none. */
  readonly guardrails?: readonly string[];
  /**
   * Buckets that an envelope's `paramsRef` may name beside the stack's own, where a client puts big params, and the keys of
   * your own under which they are. Default: none.
   */
  readonly paramsRef?: Config["paramsRef"];
  /** Prompts and outputs in the log. Default false. */
  readonly logPayloads?: boolean;
}

/** Types a config file as it is written; {@link checkConfig} checks it. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

/**
 * The config, checked, completed with the defaults and frozen.
 * @throws ConfigError that lists every problem, one a line: its path, what is wrong, what to do.
 */
export function checkConfig(input: unknown): Config {
  const tokens = [...tokensIn(input)];
  const read = configSchema.safeParse(input, { error: phrase });
  const faults = read.success ? problemsIn(read.data) : faultsOf(input, read.error.issues);
  // Of a token's form nothing is to be said: it is not what will stand there.
  const isToken = ({ path }: Problem) => tokens.some((token) => token.path.join(".") === path.join("."));
  const problems = [...tokens, ...faults.filter((fault) => !isToken(fault))];
  if (!read.success || problems.length > 0) throw refused(problems);
  return frozen(read.data);
}

/** A config, or what a stack was given beside it, that cannot work; `message` says why and what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner);
    Object.freeze(value);
  }
  return value;
}

/** What the CDK writes for a value that CloudFormation fills in, alone or in a list: the bundle would hold it as it stands. */
function* tokensIn(value: unknown, path: readonly PropertyKey[] = []): Generator<Problem> {
  const message =
    "is known only at deploy, and the config is bundled before; give the resource a fixed name, and write its URL, ARN or name";
  if (typeof value === "string" && /[$#]\{Token\[/.test(value)) yield { path, message };
  // A construct in a value's place is refused for its kind, and leads back to itself.
  if (!Array.isArray(value) && Object.getPrototypeOf(value ?? 7) !== Object.prototype) return;
  for (const [key, inner] of Object.entries(Object(value))) {
    yield* tokensIn(key, [...path, key]);
    yield* tokensIn(inner, [...path, key]);
  }
}

function refused(problems: readonly Problem[]): ConfigError {
  const lines = problems.map(({ path, message }) => `  ${path.join(".") || "config"}: ${message}`);
  return new ConfigError(["The config cannot be used:", ...lines].join("\n"));
}

// `@` joins model and target to a step's name, `#` parts the keys of the lease table: a name may hold neither.
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
    "is no name; use 1-64 letters, digits, `_`, `.`, `-`, and begin with a letter or digit",
  );
const count = z.int().min(1);
const usd = z.number().min(0);

const limit = z.strictObject({ start: count, max: count }).refine(({ start, max }) => start <= max, {
  path: ["start"],
  error: "must not be above max; lower start or raise max",
});

const region = z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/, "must be a region's code, like us-west-2");

const target = z.strictObject({
  modelId: z
    .string()
    .refine(
      (text) => readModelId(text) !== undefined,
      "must be the id of a model or an inference profile, like us.amazon.nova-lite-v1:0, or the ARN of an application inference profile, a provisioned, imported or deployed custom model",
    ),
  baseModelId: z
    .string()
    .refine(
      (text) => ["model", "profile"].includes(readModelId(text)?.kind ?? ""),
      "must be the id of a model or an inference profile, like us.amazon.nova-lite-v1:0; no ARN",
    )
    .exactOptional(),
  region,
  destinationRegions: z.array(region).min(1).exactOptional(),
  limit,
  tokensPerMinute: count.exactOptional(),
  requestsPerMinute: count.exactOptional(),
  burndown: z.number().gt(0).exactOptional(),
  contextWindow: count.exactOptional(),
  countTokens: z.literal(true).exactOptional(),
  maxTokens: count,
  typicalMs: count.exactOptional(),
  quotaGroup: z.string().exactOptional(),
  price: z
    .strictObject({
      inputPerMTok: usd,
      outputPerMTok: usd,
      cacheReadPerMTok: usd.exactOptional(),
      cacheWritePerMTok: usd.exactOptional(),
      tierFactors: z
        .strictObject({ priority: z.number().gt(0).exactOptional(), flex: z.number().gt(0).exactOptional() })
        .exactOptional(),
    })
    .exactOptional(),
  ops: z.array(z.enum(ops)).min(1).exactOptional(),
  lacks: z.array(z.enum(features)).exactOptional(),
});

const fallback = z.union([
  z.string(),
  z.strictObject({
    step: z.string(),
    maxTokens: count.exactOptional(),
    serviceTier: z.enum(serviceTiers).exactOptional(),
    requireHeadroom: z.boolean().exactOptional(),
  }),
]);

const model = z.strictObject({
  targets: z
    .record(name, target)
    .refine(
      (targets) => Object.keys(targets).length > 0,
      "needs a target; name at least one place that serves this model",
    ),
  fallback: z.array(fallback).exactOptional(),
  fallbackOn: z.array(z.string().min(1)).exactOptional(),
});

const limitMax = z.strictObject({ limitMax: count });

const laneOf = (lane: Lane) =>
  z
    .strictObject({
      share: z.number().gt(0).max(1).default(laneLimits[lane].share),
      serviceTier: z.enum(serviceTiers).exactOptional(),
      dailyBudgetUsd: z.number().gt(0).exactOptional(),
    })
    .prefault({});

const guardrail = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:bedrock:[a-z0-9-]+:\d{12}:(?:guardrail\/[a-z0-9]+|guardrail-profile\/[a-z0-9-]+\.guardrail\.v[0-9:]+)$/,
    "must be the ARN of a guardrail, like arn:aws:bedrock:us-west-2:123456789012:guardrail/gr1a2b3c4d5e, without a version, or of a guardrail profile",
  );

const bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be a bucket's bare name, like my-prompts");

const keyArn = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/,
    "must be the ARN of a key, like arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab; no alias",
  );

const queueUrl = z
  .string()
  .refine(
    (url) => queueNameOf(url) !== undefined,
    "must be the URL of a standard queue, like https://sqs.us-west-2.amazonaws.com/123456789012/replies",
  );

const eventBus = z.string().refine(isBus, "must be the name of an event bus, or its ARN, like default");

const topicArn = z
  .string()
  .refine(
    (arn) => topicPlaceOf(arn) !== undefined,
    "must be the ARN of a standard topic, like arn:aws:sns:us-west-2:123456789012:replies",
  );

const configSchema = z.strictObject({
  models: z.record(name, model).refine((models) => Object.keys(models).length > 0, "needs at least one model"),
  operations: z.record(name, limitMax).default({}),
  quotaGroups: z.record(name, limitMax).default({}),
  global: limitMax.exactOptional(),
  lanes: z.strictObject({ rt: laneOf("rt"), bg: laneOf("bg"), bulk: laneOf("bulk") }).prefault({}),
  replies: z
    .strictObject({
      // A job may come so long after it was cancelled: until then its row must tell.
      ttlDays: count.min(2).default(replyTtlDaysDefault),
      // A row takes 400 KB, and it holds more than the output.
      inlineBytesMax: count.max(262_144).default(replyInlineBytesMax),
      allow: z
        .strictObject({
          sqs: z.array(queueUrl).default([]),
          eventBuses: z.array(eventBus).default([]),
          sns: z.array(topicArn).default([]),
          taskTokens: z.boolean().default(false),
        })
        .prefault({}),
    })
    .prefault({}),
  guardrails: z.array(guardrail).exactOptional(),
  paramsRef: z
    .strictObject({ buckets: z.array(bucket), keys: z.array(keyArn).exactOptional() })
    .default({ buckets: [] }),
  logPayloads: z.boolean().default(false),
});

/** What is wrong, and what to do, wherever the schema does not say it itself. */
function phrase(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") {
    return issue.input === undefined
      ? `is missing; give ${article(issue.expected)}`
      : `must be ${article(issue.expected)}`;
  }
  if (issue.code === "too_small") {
    if (issue.origin === "array" || issue.origin === "string") return "must not be empty; leave it out instead";
    return `must be ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}; raise it`;
  }
  if (issue.code === "unrecognized_keys")
    return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(" ") : "";
  if (issue.code === "too_big") return `must be at most ${issue.maximum}; lower it`;
  if (issue.code === "invalid_value") {
    const [only, ...others] = issue.values;
    return others.length === 0
      ? `must be ${String(only)}; else remove it`
      : `must be one of ${issue.values.join(", ")}`;
  }
  return undefined;
}

function article(expected: string): string {
  const noun = { int: "whole number", record: "object" }[expected] ?? expected;
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}

/** Names that are no setting keep nobody from hearing what else is wrong. */
function faultsOf(input: unknown, issues: readonly z.core.$ZodIssue[]): readonly Problem[] {
  const faults = issues.flatMap((issue) => problemsOf(issue));
  const unknown = issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? [issue] : []));
  if (unknown.length < issues.length) return faults;
  const rest = unknown.reduce<unknown>((value, { path, keys }) => without(value, path, keys), input);
  const read = configSchema.safeParse(rest, { error: phrase });
  return read.success ? [...faults, ...problemsIn(read.data)] : faults;
}

/** A copy in which these are not, at that place. */
function without(value: unknown, [first, ...path]: readonly PropertyKey[], keys: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    first === undefined
      ? entries.filter(([key]) => !keys.includes(key))
      : entries.map(([key, inner]) => [key, key === first ? without(inner, path, keys) : inner]),
  );
}

function problemsOf(issue: z.core.$ZodIssue, under: readonly PropertyKey[] = []): readonly Problem[] {
  const path = [...under, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    // Its message is the names that are settings there.
    const known = issue.message.split(" ");
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      const remedy = meant === undefined ? "correct its spelling or remove it" : `did you mean ${meant}?`;
      return { path: [...path, key], message: `is no setting; ${remedy}` };
    });
  }
  if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ path, message }));
  if (issue.code !== "invalid_union") return [{ path, message: issue.message }];

  // The form that was meant is the one that fails deeper than at its own type.
  const meant = issue.errors.find((form) =>
    form.every(({ code, path: at }) => code !== "invalid_type" || at.length > 0),
  );
  if (meant !== undefined) return meant.flatMap((inner) => problemsOf(inner, path));
  return [{ path, message: "must be a step, `model` or `model@target`, or an object with `step`" }];
}
