import { ops as allOps, stepParts } from "./config.ts";
import type { Config, FallbackConfig, Feature, ModelConfig, Op, Price, ServiceTier, TargetConfig } from "./config.ts";
import { estimateTokens } from "./estimate.ts";
import type { Job } from "./job.ts";
import type { Json, JsonObject } from "./json.ts";
import { isObject } from "./json.ts";
import type { Quota } from "./rate.ts";

/** One `model@target` of a job's fallback chain, with all that an attempt on it needs to know. */
export interface Step {
  /** `model@target`: also the name of its lease ledger. */
  readonly name: string;
  readonly model: string;
  readonly target: string;
  /** The Bedrock model or inference profile id that goes into the request. */
  readonly modelId: string;
  /** What stands behind an ARN, where the config says it. */
  readonly baseModelId?: string;
  readonly region: string;
  /** Sent as the ceiling of every request. */
  readonly maxTokens: number;
  readonly serviceTier?: ServiceTier;
  /** Skipped where it has no lease to spare at once: nobody waits for one. */
  readonly requireHeadroom: boolean;
  readonly contextWindow?: number;
  /** Its prompts are counted, not only estimated. */
  readonly countTokens?: true;
  readonly typicalMs?: number;
  readonly limit: { readonly start: number; readonly max: number };
  /** What it takes in a minute; absent: nobody counts. */
  readonly quota?: Quota;
  readonly burndown?: number;
  readonly quotaGroup?: string;
  readonly ops: readonly Op[];
  readonly lacks: readonly string[];
  readonly price?: Price;
  /** Stop reasons that send the job to the next step although the model answered. */
  readonly fallbackOn: readonly string[];
}

/** A name that this worker's config does not have may be known to another version's: the job is not refused for it. */
export type Plan =
  | { readonly kind: "plan"; readonly steps: readonly [Step, ...Step[]] }
  | { readonly kind: "unknown-model"; readonly name: string };

type Planned = Pick<Job, "model" | "fallback" | "lane">;
type Entry = Exclude<FallbackConfig, string>;

/**
 * A job's fallback chain, no step twice: the pinned target or all of the model's own, then what the job's `fallback`
 * says. `default`: the model's other targets and its chain; `none`: nothing; a list: that, in its order.
 */
export function plan(job: Planned, config: Config): Plan {
  const steps = new Map<string, Step>();
  for (const entry of [{ step: job.model }, ...followers(job, config)]) {
    const served = stepsOf(entry, job, config);
    if (served.length === 0) return { kind: "unknown-model", name: entry.step };
    for (const step of served) if (!steps.has(step.name)) steps.set(step.name, step);
  }
  const [first, ...rest] = steps.values();
  return first === undefined ? { kind: "unknown-model", name: job.model } : { kind: "plan", steps: [first, ...rest] };
}

function followers({ model, fallback }: Planned, config: Config): Entry[] {
  const { model: alias } = stepParts(model);
  const chain = (own(config.models, alias)?.fallback ?? []).map((entry) =>
    typeof entry === "string" ? { step: entry } : entry,
  );
  if (fallback === "none") return [];
  if (fallback === "default") return [{ step: alias }, ...chain];
  return fallback.map((step) => asConfigured(step, chain));
}

/** A job that lists a step of the chain gets it with the chain's overrides, whether it names all targets or one. */
function asConfigured(step: string, chain: readonly Entry[]): Entry {
  const entry = chain.find((it) => it.step === step) ?? chain.find((it) => it.step === stepParts(step).model);
  return { ...entry, step };
}

function stepsOf(entry: Entry, job: Planned, config: Config): Step[] {
  const { model: alias, target } = stepParts(entry.step);
  const model = own(config.models, alias);
  if (model === undefined) return [];
  const names = target === undefined ? Object.keys(model.targets) : [target];
  const serviceTier = entry.serviceTier ?? config.lanes[job.lane].serviceTier;
  return names.flatMap((name) => {
    const place = own(model.targets, name);
    return place === undefined
      ? []
      : [stepOf(alias, name, place, model, { ...entry, ...(serviceTier && { serviceTier }) })];
  });
}

function stepOf(alias: string, target: string, place: TargetConfig, model: ModelConfig, entry: Entry): Step {
  const { modelId, baseModelId, region, limit, burndown, quotaGroup, contextWindow, countTokens, typicalMs, price } =
    place;
  const quota = quotaOf(place);
  return {
    name: `${alias}@${target}`,
    model: alias,
    target,
    modelId,
    region,
    limit,
    maxTokens: Math.min(place.maxTokens, entry.maxTokens ?? place.maxTokens),
    requireHeadroom: entry.requireHeadroom ?? false,
    ops: place.ops ?? allOps,
    lacks: place.lacks ?? [],
    fallbackOn: model.fallbackOn ?? [],
    ...(entry.serviceTier === undefined ? {} : { serviceTier: entry.serviceTier }),
    ...(baseModelId === undefined ? {} : { baseModelId }),
    ...(quota === undefined ? {} : { quota }),
    ...(burndown === undefined ? {} : { burndown }),
    ...(quotaGroup === undefined ? {} : { quotaGroup }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(countTokens === undefined ? {} : { countTokens }),
    ...(typicalMs === undefined ? {} : { typicalMs }),
    ...(price === undefined ? {} : { price }),
  };
}

function quotaOf({ tokensPerMinute, requestsPerMinute }: TargetConfig): Quota | undefined {
  if (tokensPerMinute === undefined && requestsPerMinute === undefined) return undefined;
  return {
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
  };
}

/** Names come from messages: `constructor` is a model only if the config says so. */
function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Why a step is passed over without an attempt. Times are epoch ms. */
export type SkipReason =
  /** Its lane has spent its money for the day, as on every other step. */
  | { readonly kind: "budget-spent"; readonly untilMs: number }
  /** By an operator, until the same brings it back. */
  | { readonly kind: "taken-out" }
  | { readonly kind: "breaker-open"; readonly untilMs: number }
  | { readonly kind: "paused"; readonly untilMs: number }
  /** It requires headroom, and the first look at its ledger found none. */
  | { readonly kind: "no-headroom" }
  | { readonly kind: "op-not-served" }
  | { readonly kind: "feature-missing"; readonly feature: Feature }
  | { readonly kind: "too-slow" }
  /** `estimated`: nobody has counted; it only means that a larger window goes first. */
  | { readonly kind: "prompt-too-long"; readonly estimated: boolean };

/** What a request asks of a target, read once a job. */
export interface Need {
  readonly op: Op;
  readonly features: readonly Feature[];
  readonly inputTokens: number;
  /** By the model's own tokenizer; absent: `inputTokens` is an estimate. */
  readonly counted?: true;
  /** The caller's own ceiling. */
  readonly maxTokens?: number;
}

/** What is known of a step from outside; what is not known (a table that cannot be read) is absent, and the step tried. */
export interface StepFacts {
  readonly need: Need;
  readonly nowMs: number;
  readonly deadlineLeftMs: number;
  /** The lane's money for the day is spent. */
  readonly budgetUntilMs?: number;
  readonly takenOut?: boolean;
  /** The end of the breaker's opening: from then on a probe may go. */
  readonly breakerUntilMs?: number;
  readonly pausedUntilMs?: number;
  /** Steps behind this one in the chain. */
  readonly stepsAfter: readonly Step[];
  /** The largest window that has refused this prompt in this delivery. */
  readonly tooLongFor?: number;
  /** From 1. An estimate is trusted on the first walk only: it may put a step last, never rule it out. */
  readonly walk: number;
}

/** Why this step is not tried now; undefined: it is. The first reason that applies is told. */
export function skipReason(step: Step, facts: StepFacts): SkipReason | undefined {
  const { need, nowMs, budgetUntilMs, breakerUntilMs = 0, pausedUntilMs = 0 } = facts;
  if (budgetUntilMs !== undefined) return { kind: "budget-spent", untilMs: budgetUntilMs };
  if (facts.takenOut === true) return { kind: "taken-out" };
  // The one that lasts longer is what keeps the job from it.
  if (breakerUntilMs > nowMs && breakerUntilMs >= pausedUntilMs)
    return { kind: "breaker-open", untilMs: breakerUntilMs };
  if (pausedUntilMs > nowMs) return { kind: "paused", untilMs: pausedUntilMs };
  if (!step.ops.includes(need.op)) return { kind: "op-not-served" };
  const feature = need.features.find((it) => step.lacks.includes(it));
  if (feature !== undefined) return { kind: "feature-missing", feature };
  if (step.typicalMs !== undefined && step.typicalMs > facts.deadlineLeftMs) return { kind: "too-slow" };
  return tooLong(step, facts);
}

function tooLong(step: Step, { need, stepsAfter, tooLongFor, walk }: StepFacts): SkipReason | undefined {
  const { contextWindow } = step;
  if (contextWindow === undefined) return undefined;
  if (tooLongFor !== undefined && contextWindow <= tooLongFor) return { kind: "prompt-too-long", estimated: false };

  const maxTokens = Math.min(step.maxTokens, need.maxTokens ?? step.maxTokens);
  if (need.inputTokens + maxTokens <= contextWindow) return undefined;
  if (need.counted === true) return { kind: "prompt-too-long", estimated: false };
  if (walk > 1) return undefined;
  // mutant: `0` → `1`: no window is as small as that.
  const larger = stepsAfter.some((later) => (later.contextWindow ?? 0) > contextWindow && serves(later, need));
  return larger ? { kind: "prompt-too-long", estimated: true } : undefined;
}

function serves(step: Step, { op, features }: Need): boolean {
  return step.ops.includes(op) && !features.some((feature) => step.lacks.includes(feature));
}

export function needOf(op: Op, params: JsonObject): Need {
  // mutant: `""` → `"mutant"`: it is no model's id either.
  const path = op === "invoke_model" ? ceilingPath(params, "") : (["inferenceConfig", "maxTokens"] as const);
  const maxTokens = path && numberAt(params, path);
  return {
    op,
    features: featuresOf(op, params),
    inputTokens: estimateTokens(params),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  };
}

/** What a request needs beside plain text, in Converse's form and in the native ones that look alike. */
export function featuresOf(op: Op, params: JsonObject): Feature[] {
  const { toolConfig, tools, messages } = params;
  const features: Feature[] = [];
  if (isObject(toolConfig) || (Array.isArray(tools) && tools.length > 0)) features.push("tools");
  if (blocksOf(messages).some(isDocument)) features.push("documents");
  if (op === "converse_stream") features.push("streaming");
  return features;
}

/** The content blocks of all messages, those inside a tool's result too. */
function blocksOf(messages: Json | undefined): JsonObject[] {
  return objectsOf(messages)
    .flatMap(({ content }) => objectsOf(content))
    .flatMap((block) => [block, ...(isObject(block.toolResult) ? objectsOf(block.toolResult.content) : [])]);
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isDocument(block: JsonObject): boolean {
  return isObject(block.document) || block.type === "document";
}

/**
 * The request of one step, without a model id. `converse` and `converse_stream`: params are Bedrock's request;
 * `invoke_model`: params are the model's own JSON body, and the service tier, which goes beside a body, is left to the
 * adapter. A ceiling is always sent: unset, Bedrock takes the model's maximum off the quota. The config's service tier
 * wins over the caller's, for it decides what a lane costs.
 */
export function paramsFor(step: Step, job: Pick<Job, "op">, params: JsonObject): JsonObject {
  const { modelId: _modelId, ...rest } = params;
  if (job.op === "invoke_model") {
    const path = ceilingPath(rest, step.baseModelId ?? step.modelId);
    return path === undefined ? rest : capped(rest, path, step.maxTokens);
  }
  return {
    ...capped(rest, ["inferenceConfig", "maxTokens"], step.maxTokens),
    ...(step.serviceTier === undefined ? {} : { serviceTier: { type: step.serviceTier } }),
  };
}

type Path = readonly [string, ...string[]];

/** Where a model family keeps its ceiling. What is not listed (embeddings, pictures) has none, and refuses a foreign field. */
const nativeCeilings: readonly (readonly [ids: RegExp, path: Path])[] = [
  [/anthropic\.|mistral\.|cohere\.command|ai21\.jamba|deepseek\.|qwen\./, ["max_tokens"]],
  [/amazon\.nova-(?:2-)?(?:micro|lite|pro|premier)/, ["inferenceConfig", "maxTokens"]],
  [/amazon\.titan-text/, ["textGenerationConfig", "maxTokenCount"]],
  [/meta\.llama/, ["max_gen_len"]],
  [/openai\./, ["max_completion_tokens"]],
];

/** A ceiling that the caller set says where this body has it, even under an ARN that tells no family. */
function ceilingPath(body: JsonObject, modelId: string): Path | undefined {
  const set = nativeCeilings.find(([, path]) => numberAt(body, path) !== undefined);
  return (set ?? nativeCeilings.find(([ids]) => ids.test(modelId)))?.[1];
}

/** The smaller of the ceiling and the caller's own; what is no number there counts as unset. */
function capped(params: JsonObject, [key, ...path]: Path, ceiling: number): JsonObject {
  const [next, ...rest] = path;
  const inner = params[key];
  if (next === undefined) return { ...params, [key]: typeof inner === "number" ? Math.min(inner, ceiling) : ceiling };
  // mutant: without `...rest`: no ceiling lies deeper than two levels, yet.
  return { ...params, [key]: capped(isObject(inner) ? inner : {}, [next, ...rest], ceiling) };
}

function numberAt(params: JsonObject, path: readonly string[]): number | undefined {
  const found = path.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), params);
  return typeof found === "number" ? found : undefined;
}
