import { converseStopReasons, ownStopReasons, stepParts, targetsOf } from "./config.ts";
import type { Config, FallbackConfig, Price } from "./config.ts";
import { countedAs } from "./count-tokens.ts";
import { lanes } from "./lane.ts";
import { readModelId } from "./model-id.ts";
import { nearest } from "./nearest.ts";

/** What is wrong with a config and what to do, at its path. */
export interface Problem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What does not go together in a config whose every setting is well formed. */
export function problemsIn(config: Config): readonly Problem[] {
  const relations = [chains, stopReasons, arns, groups, windows, counts, budgets, keys];
  return relations.flatMap((relation) => [...relation(config)]);
}

function* chains(config: Config): Generator<Problem> {
  for (const [alias, { fallback: chain = [] }] of Object.entries(config.models)) {
    for (const [place, entry] of chain.entries()) {
      const path = ["models", alias, "fallback", place];
      const fault = unknownStep(config, stepOf(entry)) ?? comesBack(config, alias, modelOf(entry));
      if (fault !== undefined) yield { path, message: fault };
    }
  }
}

function* keys({ paramsRef }: Config): Generator<Problem> {
  if (paramsRef.keys !== undefined && paramsRef.keys.length > 0 && paramsRef.buckets.length === 0)
    yield {
      path: ["paramsRef", "keys"],
      message: "are of no bucket; name in buckets those that they encrypt, or leave them out",
    };
}

/** A model may have stop reasons of its own, and nobody knows them all: one is refused if it is nearly another's, or never comes. */
function* stopReasons(config: Config): Generator<Problem> {
  for (const { path, reason, targets } of ownStopReasons(config)) {
    const meant = nearest(reason, converseStopReasons);
    if (meant !== undefined) yield { path, message: `is no stop reason; did you mean ${meant}?` };
    else if (targets.every(({ ops }) => ops?.includes("invoke_model") === false)) {
      const message = `is no stop reason of Converse, and no target serves invoke_model; name one of ${converseStopReasons.join(", ")}`;
      yield { path, message };
    }
  }
}

function stepOf(entry: FallbackConfig): string {
  return typeof entry === "string" ? entry : entry.step;
}

function modelOf(entry: FallbackConfig): string {
  return stepParts(stepOf(entry)).model;
}

function unknownStep(config: Config, step: string): string | undefined {
  // mutant: `""` → `"mutant"`: a text that is split has a first part.
  const [alias = "", key, ...rest] = step.split("@");
  const targets = own(config.models, alias)?.targets;
  if (targets === undefined || rest.length > 0) return `names no model of this config; known: ${known(config.models)}`;
  if (key === undefined || own(targets, key) !== undefined) return undefined;
  return `names no target of ${alias}; known: ${known(targets)}`;
}

/** The way from a fallback back to the model it stands in for: a chain must end. Told once, by the circle's first model. */
function comesBack(config: Config, alias: string, start: string): string | undefined {
  const order = Object.keys(config.models);
  const ways: string[][] = [[start]];
  const seen = new Set<string>();
  for (let way = ways.pop(); way !== undefined; way = ways.pop()) {
    // mutant: `""` → `"mutant"`: a way has a last model.
    const at = way.at(-1) ?? "";
    if (at === alias) return `comes back: ${[alias, ...way].join(" → ")}; remove one of these fallbacks`;
    // mutant: `<` → `<=`: at the first model itself it would have come back.
    if (seen.has(at) || order.indexOf(at) < order.indexOf(alias)) continue;
    seen.add(at);
    for (const entry of own(config.models, at)?.fallback ?? []) ways.push([...way, modelOf(entry)]);
  }
  return undefined;
}

/** Whether what stands beside a modelId goes with it: an ARN lies in one region, and does not tell its model. */
function* arns(config: Config): Generator<Problem> {
  for (const { path, target: at } of targetsIn(config)) {
    const named = readModelId(at.modelId);
    if (named?.kind !== "own") {
      const message = "stands beside a modelId that is no ARN and tells the model itself; remove it";
      if (at.baseModelId !== undefined) yield { path: [...path, "baseModelId"], message };
      continue;
    }
    if (named.region !== at.region) {
      const message = `is an ARN in ${named.region}; set region to that, or name one in ${at.region}`;
      yield { path: [...path, "modelId"], message };
    }
    if (named.what === "application-inference-profile" && at.baseModelId === undefined) {
      const message = "is missing; give the id of the model or inference profile that the application's was made from";
      yield { path: [...path, "baseModelId"], message };
    }
  }
}

function* groups(config: Config): Generator<Problem> {
  for (const { path, target: at } of targetsIn(config)) {
    if (at.quotaGroup === undefined || own(config.quotaGroups, at.quotaGroup) !== undefined) continue;
    yield {
      path: [...path, "quotaGroup"],
      message: `names no quota group; add it to quotaGroups; known: ${known(config.quotaGroups)}`,
    };
  }
}

function* windows(config: Config): Generator<Problem> {
  const message = "must not be above contextWindow, input and output share it; lower it";
  for (const { path, target: at } of targetsIn(config)) {
    if (at.contextWindow !== undefined && at.maxTokens > at.contextWindow)
      yield { path: [...path, "maxTokens"], message };
  }
}

function* counts(config: Config): Generator<Problem> {
  const noModel = "needs the model's id, which this ARN does not tell; give baseModelId, or remove countTokens";
  const noUse = "has nothing to hold a count against; set contextWindow or tokensPerMinute, or remove it";
  for (const { path, target: at } of targetsIn(config)) {
    if (at.countTokens === undefined) continue;
    if (countedAs(at) === undefined) yield { path: [...path, "countTokens"], message: noModel };
    if (at.contextWindow === undefined && at.tokensPerMinute === undefined)
      yield { path: [...path, "countTokens"], message: noUse };
  }
}

function* budgets(config: Config): Generator<Problem> {
  const budgeted = lanes.filter((at) => config.lanes[at].dailyBudgetUsd !== undefined);
  if (budgeted.length === 0) return;
  const targets = targetsIn(config);
  for (const { path, target: at } of targets) {
    const message = `is missing; lanes.${budgeted[0]}.dailyBudgetUsd cannot be kept without it`;
    if (at.price === undefined) yield { path: [...path, "price"], message };
  }
  if (!targets.every(({ target: { price } }) => price !== undefined && isFree(price))) return;
  const message = "can never be spent, for every price is 0; give the targets their prices, or remove it";
  for (const lane of budgeted) yield { path: ["lanes", lane, "dailyBudgetUsd"], message };
}

function isFree({ inputPerMTok, outputPerMTok, cacheReadPerMTok = 0, cacheWritePerMTok = 0 }: Price): boolean {
  return [inputPerMTok, outputPerMTok, cacheReadPerMTok, cacheWritePerMTok].every((usd) => usd === 0);
}

function targetsIn(config: Config) {
  return targetsOf(config).map(({ model: alias, name: key, target: at }) => ({
    path: ["models", alias, "targets", key],
    target: at,
  }));
}

function own<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function known(record: Readonly<Record<string, unknown>>): string {
  return Object.keys(record).join(", ") || "none";
}
