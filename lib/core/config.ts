import type { Lane } from "./lane.ts";

export const ops = ["converse", "converse_stream", "invoke_model"] as const;
/** The Bedrock operation of a job. */
export type Op = (typeof ops)[number];

export const serviceTiers = ["priority", "default", "flex"] as const;
/** Bedrock's service tier; https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html */
export type ServiceTier = (typeof serviceTiers)[number];

export const features = ["tools", "documents", "streaming"] as const;
/** What a request may need of a target beside plain text. */
export type Feature = (typeof features)[number];

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
export const converseStopReasons: readonly string[] = [
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "guardrail_intervened",
  "content_filtered",
  "malformed_model_output",
  "malformed_tool_use",
  "model_context_window_exceeded",
];

/** USD for a million tokens, in the default service tier. */
export interface Price {
  readonly inputPerMTok: number;
  readonly outputPerMTok: number;
  /** Of cached tokens; absent: as for input. */
  readonly cacheReadPerMTok?: number;
  readonly cacheWritePerMTok?: number;
  /** What a token costs in another tier, against the default one. Absent: half in flex, 1.75 times as much in priority. */
  readonly tierFactors?: { readonly priority?: number; readonly flex?: number };
}

/** One place that serves a model. Counts are requests in flight, tokens or requests a minute; times are ms. */
export interface TargetConfig {
  /**
   * The id of a model or of an inference profile, or the ARN of one's own application inference profile (for cost tags),
   * provisioned model, imported model or custom model deployment, in `region`.
   */
  readonly modelId: string;
  /** What stands behind an ARN, by its id. An application inference profile needs it: what it was made from, its `copyFrom`. */
  readonly baseModelId?: string;
  readonly region: string;
  /** Where the inference profile, or the one behind an ARN, may route to; absent: as known for its prefix. Only the stack's rights need it. */
  readonly destinationRegions?: readonly string[];
  readonly limit: { readonly start: number; readonly max: number };
  readonly tokensPerMinute?: number;
  readonly requestsPerMinute?: number;
  /** Tokens of the quota that an output token costs; absent: as AWS tells it of the model. */
  readonly burndown?: number;
  readonly contextWindow?: number;
  /**
   * Has prompts counted by Bedrock's CountTokens, where the model has it; absent: they are estimated. Only a count may
   * refuse a job for a `contextWindow`, and it makes exact what is set aside of `tokensPerMinute`.
   */
  readonly countTokens?: true;
  readonly maxTokens: number;
  readonly typicalMs?: number;
  readonly quotaGroup?: string;
  readonly price?: Price;
  /** Absent: every operation. */
  readonly ops?: readonly Op[];
  /** Features that this target does not have. */
  readonly lacks?: readonly Feature[];
}

/** A step of a fallback chain: `model` or `model@target`, alone or with its own overrides. */
export type FallbackConfig =
  | string
  | {
      readonly step: string;
      readonly maxTokens?: number;
      readonly serviceTier?: ServiceTier;
      readonly requireHeadroom?: boolean;
    };

export interface ModelConfig {
  /** In the order in which they are tried. */
  readonly targets: Readonly<Record<string, TargetConfig>>;
  readonly fallback?: readonly FallbackConfig[];
  /** Stop reasons that count as a failure of this model although it answered. */
  readonly fallbackOn?: readonly string[];
}

export interface LaneConfig {
  readonly share?: number;
  readonly serviceTier?: ServiceTier;
  readonly dailyBudgetUsd?: number;
}

/** A config that has been checked and completed (`lib/config.ts`); nothing else makes one. */
export interface Config {
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly operations: Readonly<Record<string, { readonly limitMax: number }>>;
  readonly quotaGroups: Readonly<Record<string, { readonly limitMax: number }>>;
  readonly global?: { readonly limitMax: number };
  readonly lanes: Readonly<Record<Lane, LaneConfig & { readonly share: number }>>;
  readonly replies: {
    readonly ttlDays: number;
    readonly inlineBytesMax: number;
    readonly allow: {
      readonly sqs: readonly string[];
      readonly eventBuses: readonly string[];
      readonly sns: readonly string[];
      readonly taskTokens: boolean;
    };
  };
  /** By their ARNs: who asks models may apply these. Absent: none. */
  readonly guardrails?: readonly string[];
  /** Buckets, or `bucket/prefix/` where no more than that may be read. */
  readonly paramsRef: {
    readonly buckets: readonly string[];
    /** ARNs of the keys that encrypt what lies there: whoever reads it may decrypt by them. Only the stack's rights need it. */
    readonly keys?: readonly string[];
  };
  readonly logPayloads: boolean;
}

/** A target with the name of its step, `model@target`, which its ledger bears too. */
export interface NamedTarget {
  readonly step: string;
  readonly model: string;
  readonly name: string;
  readonly target: TargetConfig;
}

/** Every target of a config, in its order. */
export function targetsOf({ models }: Pick<Config, "models">): readonly NamedTarget[] {
  return Object.entries(models).flatMap(([model, { targets }]) =>
    Object.entries(targets).map(([name, target]) => ({ step: `${model}@${name}`, model, name, target })),
  );
}

/** The stop reasons in `fallbackOn`, with their paths, that only a model's own answer to `invoke_model` can have. */
export function ownStopReasons({ models }: Pick<Config, "models">) {
  return Object.entries(models).flatMap(([model, { targets, fallbackOn = [] }]) =>
    fallbackOn.flatMap((reason, place) =>
      converseStopReasons.includes(reason)
        ? []
        : [{ path: ["models", model, "fallbackOn", place], reason, targets: Object.values(targets) }],
    ),
  );
}

/** What a step names: `fast-text`, or `fast-text@us-west-2`. */
export function stepParts(step: string): { readonly model: string; readonly target?: string } {
  const at = step.indexOf("@");
  return at < 0 ? { model: step } : { model: step.slice(0, at), target: step.slice(at + 1) };
}

/** Whether this deployment reads an object that a sender names. */
export function mayRead(
  { paramsRef }: Config,
  { bucket, key }: { readonly bucket: string; readonly key: string },
): boolean {
  return paramsRef.buckets.some(
    (allowed) => allowed === bucket || (allowed.includes("/") && `${bucket}/${key}`.startsWith(allowed)),
  );
}
