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

interface Bucket {
  readonly atMs: number;
  readonly values: number[];
}

interface Kept {
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly buckets: Bucket[];
}

const secondMs = 1_000;
/** So long is looked back, at most. */
export const keptMs = 15 * 60_000;
/** One line holds a hundred at most; this only bounds what a foreign line may bring. */
const valuesMax = 400;

export function createMeasured(): Measured {
  const all = new Map<string, Kept>();
  let first: number | undefined;

  function add(name: string, dimensions: Kept["dimensions"], atMs: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const key = JSON.stringify([name, dimensions]);
    const kept = all.get(key) ?? { name, dimensions, buckets: [] };
    all.set(key, kept);
    const second = Math.floor(atMs / secondMs) * secondMs;
    const bucket = kept.buckets.find((each) => each.atMs === second) ?? { atMs: second, values: [] };
    if (bucket.values.length === 0) {
      kept.buckets.push(bucket);
      while ((kept.buckets[0]?.atMs ?? second) < second - keptMs) kept.buckets.shift();
    }
    bucket.values.push(...values.slice(0, valuesMax));
    first = Math.min(first ?? second, second);
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
        const within = kept.buckets.filter(({ atMs }) => atMs >= fromMs - bucketMs && atMs <= toMs);
        const groups = Map.groupBy(within, ({ atMs }) => Math.floor(atMs / bucketMs) * bucketMs);
        const points = [...groups]
          .map(([atMs, buckets]) => ({
            atMs,
            value: valueOf(
              buckets.flatMap(({ values }) => values),
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

export function valueOf(values: readonly number[], statistic: Statistic): number {
  const sum = () => values.reduce((all, value) => all + value, 0);
  switch (statistic) {
    case "sum":
      return sum();
    case "average":
      return sum() / Math.max(1, values.length);
    case "max":
      return Math.max(...values);
    case "min":
      return Math.min(...values);
    case "p50":
    case "p95":
    case "p99": {
      const sorted = values.toSorted((a, b) => a - b);
      const rank = Math.ceil((Number(statistic.slice(1)) / 100) * sorted.length);
      return sorted[Math.max(0, rank - 1)] ?? 0;
    }
  }
}
