import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { Config } from "../lib/core/config.ts";
import { lanes } from "../lib/core/lane.ts";
import type { Lane } from "../lib/core/lane.ts";
import { metrics, namespace } from "../lib/core/metrics.ts";
import type { Dimension, MetricFacts, MetricName } from "../lib/core/metrics.ts";
import { sweepIndex } from "../lib/core/sweep.ts";
import type { JobQueue, ParkedQueue, RepliesQueue } from "./job-queue.ts";
import type { JobTable } from "./job-table.ts";
import type { LeaseTable } from "./lease-table.ts";
import type { LiveFunction } from "./live-function.ts";

/** What is shown on the dashboard and watched by alarms. */
export interface Watched {
  readonly config: Config;
  readonly jobQueues: Readonly<Record<Lane, JobQueue>>;
  readonly parked: ParkedQueue;
  readonly repliesQueue: RepliesQueue;
  readonly jobTable: JobTable;
  readonly leaseTable: LeaseTable;
  readonly workers: Readonly<Record<Lane, LiveFunction>>;
  readonly replyStore: LiveFunction;
  readonly deadLetters: LiveFunction;
  readonly sweeper: LiveFunction;
}

export const minute = Duration.minutes(1);

/** A graph shows so many groups at most, the highest: forty lines say nothing. */
export const linesMax = 10;

/** One metric, by its very dimensions. */
export function metric(
  name: MetricName,
  dimensions: Readonly<Partial<Record<Dimension, string>>>,
  statistic: string,
  label: string = name,
  period = minute,
): Metric {
  const keys = Object.keys(dimensions);
  const { by }: MetricFacts = metrics[name];
  if (!by.some((set) => set.toSorted().join() === keys.toSorted().join()))
    throw new Error(`${name} is never emitted by ${keys.join(", ") || "nothing"}`);
  return new Metric({
    namespace,
    metricName: name,
    dimensionsMap: { ...dimensions },
    statistic,
    label,
    period,
  });
}

export function eachLane(name: MetricName, statistic: string): Metric[] {
  return lanes.map((lane) => metric(name, { lane }, statistic, lane));
}

/**
 * Values added up, or their highest, for each value of some dimensions, whatever these are by then: a query of Metrics
 * Insights. A widget or an alarm holds one.
 */
export function grouped(
  name: MetricName,
  groupBy: readonly Dimension[],
  how: "SUM" | "MAX" = "SUM",
  linesAtMost: number = Infinity,
): string {
  const schema = [namespace, ...setWith(name, groupBy)].map(quoted).join(", ");
  const top = linesAtMost === Infinity ? "" : ` ORDER BY ${how}() DESC LIMIT ${linesAtMost}`;
  // Quoted, since a dimension may bear the name of a keyword.
  return `SELECT ${how}(${quoted(name)}) FROM SCHEMA(${schema}) GROUP BY ${groupBy.map(quoted).join(", ")}${top}`;
}

/** A statistic for each target, the highest ones: what Metrics Insights cannot do for percentiles, a search can. */
export function eachTarget(name: MetricName, statistic: string): string {
  return `SORT(${searched(name, ["model", "target"], statistic)}, MAX, DESC, ${linesMax})`;
}

/** A count over all that it is split by. */
export function total(name: MetricName): IMetric {
  const set = setWith(name, []);
  if (set.length === 0) return metric(name, {}, "Sum");
  return expression(`SUM(${searched(name, set, "Sum")})`, name);
}

/** The period is that of all its metrics too. */
export function expression(
  text: string,
  label?: string,
  usingMetrics: Record<string, IMetric> = {},
  period = minute,
): MathExpression {
  return new MathExpression({ expression: text, usingMetrics, period, ...(label === undefined ? {} : { label }) });
}

/** Six functions, by the names that an operator knows. */
export function functionsOf({ workers, replyStore, deadLetters, sweeper }: Watched): readonly [string, LiveFunction][] {
  return [
    ...lanes.map((lane): [string, LiveFunction] => [lane, workers[lane]]),
    ["reply-store", replyStore],
    ["dead-letters", deadLetters],
    ["sweeper", sweeper],
  ];
}

/** Requests that DynamoDB refused to either table or to the sweeper's index; nothing is reported while there are none. */
export function tableThrottles({ jobTable, leaseTable }: Watched): Metric[] {
  const tables = [
    ["jobs", { TableName: jobTable.table.tableName }],
    ["index", { TableName: jobTable.table.tableName, GlobalSecondaryIndexName: sweepIndex.name }],
    ["leases", { TableName: leaseTable.table.tableName }],
  ] as const;
  return tables.flatMap(([name, dimensionsMap]) =>
    ["Read", "Write"].map(
      (way) =>
        new Metric({
          namespace: "AWS/DynamoDB",
          metricName: `${way}ThrottleEvents`,
          dimensionsMap,
          statistic: "Sum",
          label: `${name} ${way.toLowerCase()}`,
          period: minute,
        }),
    ),
  );
}

/** The smallest of its sets that has all of these. */
function setWith(name: MetricName, wanted: readonly Dimension[]): readonly Dimension[] {
  const { by }: MetricFacts = metrics[name];
  const [set] = by
    .filter((each) => wanted.every((dimension) => each.includes(dimension)))
    .toSorted((a, b) => a.length - b.length);
  if (set === undefined) throw new Error(`${name} is never emitted by ${wanted.join(", ")}`);
  return set;
}

function searched(name: MetricName, set: readonly Dimension[], statistic: string): string {
  return `SEARCH('{${[namespace, ...set].join(",")}} MetricName="${name}"', '${statistic}', ${minute.toSeconds()})`;
}

function quoted(name: string): string {
  return `"${name}"`;
}
