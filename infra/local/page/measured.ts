/** The metrics that the workers have embedded in their log lines, as CloudWatch would have them; bounded. */
import { isObject } from "../../../lib/core/json.ts";
import { namespace } from "../../../lib/core/metrics.ts";
import type { MetricName } from "../../../lib/core/metrics.ts";
import type { JsonLine } from "./history.ts";

export type Statistic = "sum" | "max" | "min" | "average" | "p50" | "p95" | "p99";

/** One metric under one set of dimensions. */
export interface Series {
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly points: readonly { readonly atMs: number; readonly value: number }[];
}

export interface Asked {
  readonly name: MetricName;
  /** The names of its dimensions: one metric is emitted under several sets. */
  readonly by: readonly string[];
  readonly statistic: Statistic;
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
}

export interface Measured {
  hear(line: JsonLine): void;
  /** Each series that has values in that time, by its dimensions; a point for each bucket that has any. */
  series(asked: Asked): readonly Series[];
  /** When the first value came. */
  sinceMs(): number | undefined;
}

/** What came in one second: exact but for `sample`, each value of which stands for as many as the others. */
interface Second {
  count: number;
  sum: number;
  min: number;
  max: number;
  sample: number[];
  /** One of so many is in the sample. */
  every: number;
}

interface Kept {
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** By when they began, epoch ms. */
  readonly seconds: Map<number, Second>;
}

const secondMs = 1_000;
/** So long is looked back, at most. */
export const keptMs = 15 * 60_000;
/** What is kept of a second, for its percentiles: as many as one line holds at most. */
const sampleMax = 100;

export function createMeasured(): Measured {
  const all = new Map<string, Kept>();
  let first: number | undefined;

  function add(name: string, dimensions: Kept["dimensions"], atMs: number, values: readonly number[]): void {
    if (values.length === 0 || !Number.isFinite(atMs)) return;
    const key = JSON.stringify([name, dimensions]);
    const { seconds } = getOrPut(all, key, () => ({ name, dimensions, seconds: new Map<number, Second>() }));
    const atSecond = Math.floor(atMs / secondMs) * secondMs;
    const second = getOrPut(seconds, atSecond, emptySecond);
    for (const value of values) take(second, value);
    for (const each of seconds.keys()) {
      if (each >= atSecond - keptMs) break;
      seconds.delete(each);
    }
    first = Math.min(first ?? atSecond, atSecond);
  }

  return {
    hear(line) {
      for (const { atMs, names, dimensions } of directives(line))
        for (const name of names) add(name, dimensions, atMs, numbersIn(line[name]));
    },
    series({ name, by, statistic, fromMs, toMs, bucketMs }) {
      const wanted = by.toSorted().join();
      return [...all.values()].flatMap((kept): Series[] => {
        if (kept.name !== name || Object.keys(kept.dimensions).toSorted().join() !== wanted) return [];
        const within = [...kept.seconds].filter(([atMs]) => atMs >= fromMs - bucketMs && atMs <= toMs);
        const groups = Map.groupBy(within, ([atMs]) => Math.floor(atMs / bucketMs) * bucketMs);
        const points = [...groups]
          .map(([atMs, its]) => ({
            atMs,
            value: valueOf(
              its.map(([, second]) => second),
              statistic,
            ),
          }))
          .toSorted((a, b) => a.atMs - b.atMs);
        return points.length === 0 ? [] : [{ name, dimensions: kept.dimensions, points }];
      });
    },
    sinceMs: () => first,
  };
}

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
function directives(line: JsonLine) {
  const aws = line["_aws"];
  if (!isObject(aws) || !Array.isArray(aws["CloudWatchMetrics"])) return [];
  const atMs = Number(aws["Timestamp"]);
  return aws["CloudWatchMetrics"].flatMap((directive: unknown) => {
    if (!isObject(directive) || directive["Namespace"] !== namespace) return [];
    const { Dimensions, Metrics } = directive;
    const sets = Array.isArray(Dimensions) && Dimensions.length > 0 ? Dimensions : [[]];
    const names = Array.isArray(Metrics)
      ? Metrics.flatMap((each) => (isObject(each) && typeof each["Name"] === "string" ? [each["Name"]] : []))
      : [];
    return sets.map((set) => {
      const keys = Array.isArray(set) ? set.map(String) : [];
      return { atMs, names, dimensions: Object.fromEntries(keys.map((key) => [key, String(line[key])])) };
    });
  });
}

function numbersIn(value: unknown): readonly number[] {
  return [value].flat().filter((each): each is number => typeof each === "number");
}

function emptySecond(): Second {
  return { count: 0, sum: 0, min: Infinity, max: -Infinity, sample: [], every: 1 };
}

function take(second: Second, value: number): void {
  if (second.count % second.every === 0) second.sample.push(value);
  second.count += 1;
  second.sum += value;
  second.min = Math.min(second.min, value);
  second.max = Math.max(second.max, value);
  if (second.sample.length <= sampleMax) return;
  second.sample = second.sample.filter((_, place) => place % 2 === 0);
  second.every *= 2;
}

function valueOf(seconds: readonly Second[], statistic: Statistic): number {
  const sum = seconds.reduce((all, second) => all + second.sum, 0);
  switch (statistic) {
    case "sum":
      return sum;
    case "average":
      return sum / seconds.reduce((all, { count }) => all + count, 0);
    case "max":
      return Math.max(...seconds.map(({ max }) => max));
    case "min":
      return Math.min(...seconds.map(({ min }) => min));
    case "p50":
    case "p95":
    case "p99":
      return percentile(seconds, Number(statistic.slice(1)) / 100);
  }
}

/** A second with many values counts for more than one with few, though as many are kept of both. */
function percentile(seconds: readonly Second[], part: number): number {
  const sorted = seconds
    .flatMap(({ sample, count }) => sample.map((value) => ({ value, standsFor: count / sample.length })))
    .toSorted((a, b) => a.value - b.value);
  let left = part * seconds.reduce((all, { count }) => all + count, 0);
  // What adding up fractions loses must not lead to the value after.
  return sorted.find(({ standsFor }) => (left -= standsFor) <= 1e-6)?.value ?? 0;
}

function getOrPut<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
