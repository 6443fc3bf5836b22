import type { Op } from "../core/config.ts";
import { faults } from "./bedrock-script.ts";
import type { Effect, Faulty, Latency, Rule, Script } from "./bedrock-script.ts";
import { createDice } from "./clock.ts";

/** A request as the stand-in sees it. */
export interface Arrival {
  readonly op: Op | "count_tokens";
  readonly modelId: string;
  readonly region: string;
  readonly jobId?: string;
}

/** What one call is to meet. It ends with the first of `done` and `left`. */
export interface Turn {
  readonly effect: Effect;
  readonly latencyMs: number;
  /** The script was carried out; `made` is the answer, whether or not it arrived. */
  done(nowMs: number, made: Billed): void;
  /** The client went away before. */
  left(nowMs: number): void;
}

export interface Billed {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The record of one target: `modelId@region`. `now` and `max` are requests in flight, the refused ones included. */
export interface TargetRecord extends Billed {
  readonly now: number;
  readonly max: number;
  readonly calls: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface JobRecord extends Billed {
  readonly now: number;
  readonly max: number;
  readonly calls: number;
  readonly answered: number;
  readonly targets: Readonly<Record<string, number>>;
}

export interface CallRecord extends Arrival {
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  /** `answered`, `aborted` (the client left), the error's name, or the kind of effect; absent while in flight. */
  readonly outcome?: string;
}

export interface BedrockRecord {
  readonly now: number;
  readonly max: number;
  readonly targets: Readonly<Record<string, TargetRecord>>;
  /** Calls that named no job stand under the empty name. */
  readonly jobs: Readonly<Record<string, JobRecord>>;
  /** The latest calls, oldest first; tokens that are counted ask no model, and stand here alone. */
  readonly calls: readonly CallRecord[];
}

/** A script being played, and the truth about every call it met. Time is an argument. */
export interface Play {
  arrive(call: Arrival, nowMs: number): Turn;
  /** Another script; counts of its rules begin anew, the record goes on. */
  load(script: Script, nowMs: number): void;
  record(): BedrockRecord;
}

const callsKeptMax = 10_000;

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Sums<T, Counts extends keyof T> = Writable<Omit<T, Counts>> & Record<Counts, Record<string, number>>;

export function playScript(first: Script, startMs: number): Play {
  let stage = { script: first, startMs, seen: new Map<string, number>(), dice: createDice(first.seed) };
  const admitted = new Map<string, number>();
  const targets = new Map<string, Sums<TargetRecord, "outcomes">>();
  const jobs = new Map<string, Sums<JobRecord, "targets">>();
  const calls: Writable<CallRecord>[] = [];
  const total = { now: 0, max: 0 };

  const decide = (call: Arrival, nowMs: number): { effect: Effect; latency: Latency; admitted: boolean } => {
    const { script } = stage;
    const limit = script.limits.find((one) => matches(one.modelId, call.modelId) && matches(one.region, call.region));
    if (limit !== undefined && call.op !== "count_tokens" && (admitted.get(targetOf(call)) ?? 0) >= limit.max) {
      const effect: Effect = {
        kind: "fail",
        error: "throttled",
        ...(limit.retryAfter === undefined ? {} : { retryAfter: limit.retryAfter }),
      };
      return { effect, latency: 0, admitted: false };
    }
    const rule = script.rules.find((one, index) => holds(one, index, call, nowMs));
    return { effect: rule?.do ?? { kind: "answer" }, latency: rule?.latency ?? script.latency, admitted: true };
  };

  const holds = ({ when }: Rule, index: number, call: Arrival, nowMs: number): boolean => {
    const sinceMs = nowMs - stage.startMs;
    if (sinceMs < (when.fromMs ?? 0) || sinceMs >= (when.toMs ?? Number.POSITIVE_INFINITY)) return false;
    if (when.op !== undefined && when.op !== call.op) return false;
    if (!matches(when.modelId, call.modelId) || !matches(when.region, call.region) || !matches(when.jobId, call.jobId))
      return false;

    const reached = tally(stage.seen, `${index}`);
    const reachedByJob = tally(stage.seen, `${index} ${call.jobId ?? ""}`);
    const range = typeof when.nth === "number" ? { from: when.nth, to: when.nth, of: "rule" as const } : when.nth;
    const nth = range?.of === "job" ? reachedByJob : reached;
    if (range !== undefined && (nth < range.from || nth > (range.to ?? Number.POSITIVE_INFINITY))) return false;
    return when.percent === undefined || stage.dice() * 100 < when.percent;
  };

  return {
    arrive(call, nowMs) {
      const decided = decide(call, nowMs);
      const told: Writable<CallRecord> = { ...call, startedAtMs: nowMs };
      calls.push(told);
      if (calls.length > callsKeptMax) calls.shift();
      const { effect } = decided;
      const latencyMs = draw(decided.latency, stage.dice);
      if (call.op === "count_tokens") {
        const end = (outcome: string, endedAtMs: number): void => {
          if (told.outcome === undefined) Object.assign(told, { outcome, endedAtMs });
        };
        return {
          effect,
          latencyMs,
          done: (endMs) => end(outcomeOf(effect), endMs),
          left: (endMs) => end("aborted", endMs),
        };
      }

      const name = targetOf(call);
      const target = entry(targets, name, () => ({
        now: 0,
        max: 0,
        calls: 0,
        outcomes: {},
        inputTokens: 0,
        outputTokens: 0,
      }));
      const job = entry(jobs, call.jobId ?? "", () => ({
        now: 0,
        max: 0,
        calls: 0,
        answered: 0,
        targets: {},
        inputTokens: 0,
        outputTokens: 0,
      }));
      const gauges = [total, target, job];
      for (const gauge of gauges) gauge.max = Math.max(gauge.max, ++gauge.now);
      if (decided.admitted) admitted.set(name, (admitted.get(name) ?? 0) + 1);
      target.calls++;
      job.calls++;
      job.targets[name] = (job.targets[name] ?? 0) + 1;

      const end = (outcome: string, endMs: number, billed: Billed): void => {
        if (told.outcome !== undefined) return;
        Object.assign(told, { outcome, endedAtMs: endMs });
        for (const gauge of gauges) gauge.now--;
        if (decided.admitted) admitted.set(name, (admitted.get(name) ?? 0) - 1);
        target.outcomes[outcome] = (target.outcomes[outcome] ?? 0) + 1;
        if (outcome === "answered") job.answered++;
        for (const sum of [target, job]) {
          sum.inputTokens += billed.inputTokens;
          sum.outputTokens += billed.outputTokens;
        }
      };
      return {
        effect,
        latencyMs,
        done: (endMs, made) => end(outcomeOf(effect), endMs, billedOf(effect, made)),
        left: (endMs) => end("aborted", endMs, { inputTokens: 0, outputTokens: 0 }),
      };
    },
    load(script, nowMs) {
      stage = { script, startMs: nowMs, seen: new Map(), dice: createDice(script.seed) };
    },
    record: () =>
      structuredClone({ ...total, targets: Object.fromEntries(targets), jobs: Object.fromEntries(jobs), calls }),
  };
}

export function targetOf({ modelId, region }: Pick<Arrival, "modelId" | "region">): string {
  return `${modelId}@${region}`;
}

function outcomeOf(effect: Effect): string {
  if (effect.kind === "fail" || effect.kind === "stream-error") return faultOf(effect.error).name;
  return effect.kind === "answer" || effect.kind === "trickle" ? "answered" : effect.kind;
}

/** A model that began to answer has read its input. */
function billedOf(effect: Effect, made: Billed): Billed {
  switch (effect.kind) {
    case "answer":
    case "trickle":
    case "malformed":
      return made;
    case "stream-error":
    case "truncated":
    case "hang":
    case "reset":
      return { inputTokens: made.inputTokens, outputTokens: 0 };
    case "fail":
      return { inputTokens: 0, outputTokens: 0 };
  }
}

/** An error of the script as plain facts. */
export function faultOf(error: keyof typeof faults | { status: number; name: string; message: string }): {
  readonly status: number;
  readonly name: string;
  readonly message: string;
} {
  if (typeof error !== "string") return error;
  const [status, name, message] = faults[error];
  return { status, name, message };
}

/** The headers by which a fault asks to wait. */
export function waitHeaders({ retryAfter, xAmzRetryAfter }: Faulty): Readonly<Record<string, string>> {
  return {
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
    ...(xAmzRetryAfter === undefined ? {} : { "x-amz-retry-after": xAmzRetryAfter }),
  };
}

function matches(pattern: string | undefined, value: string | undefined): boolean {
  if (pattern === undefined) return true;
  if (value === undefined) return false;
  return pattern.endsWith("*") ? value.startsWith(pattern.slice(0, -1)) : value === pattern;
}

function tally(counts: Map<string, number>, key: string): number {
  const next = (counts.get(key) ?? 0) + 1;
  counts.set(key, next);
  return next;
}

function entry<T>(map: Map<string, T>, key: string, make: () => NoInfer<T>): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

function draw(latency: Latency, roll: () => number): number {
  if (typeof latency === "number") return latency;
  // Box-Muller; the mean of a lognormal lies σ²/2 above its median.
  const normal = Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll());
  return latency.meanMs * Math.exp(latency.sigma * normal - latency.sigma ** 2 / 2);
}
