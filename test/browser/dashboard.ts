/** The dashboard's own widgets, as far as a run on this machine has their metrics. What nothing here measures stays without. */
import { isObject } from "../../lib/core/json.ts";
import type { Json, JsonObject } from "../../lib/core/json.ts";
import { metrics, namespace } from "../../lib/core/metrics.ts";
import type { MetricName } from "../../lib/core/metrics.ts";
import { text } from "../../infra/local/template.ts";
import { chartMarkup } from "../../lib/view/chart.ts";
import type { Line, Point } from "../../lib/view/chart.ts";
import { markup } from "../../lib/view/markup.ts";
import type { Markup } from "../../lib/view/markup.ts";
import type { Asked, Measured, Statistic } from "../../infra/local/page/measured.ts";

export type Frame = Pick<Asked, "fromMs" | "toMs" | "bucketMs">;

/** Of a queue by its name, as SQS's own metric has it. */
export type DepthsSeen = (queueName: string, metric: string) => readonly Point[];

interface Row {
  readonly names: readonly string[];
  readonly options: JsonObject;
}

const statistics: Readonly<Record<string, Statistic>> = {
  Sum: "sum",
  Maximum: "max",
  Minimum: "min",
  Average: "average",
  SUM: "sum",
  MAX: "max",
  MIN: "min",
  p50: "p50",
  p95: "p95",
  p99: "p99",
};

export function widgetMarkup(widget: JsonObject, measured: Measured, frame: Frame, depths: DepthsSeen): Markup {
  const properties = isObject(widget["properties"]) ? widget["properties"] : {};
  const { markdown, title = "", metrics: rows, stacked = false } = properties;
  if (typeof markdown === "string") {
    const [head = "", how = ""] = markdown.split("\n");
    return markup`<div class="row"><h2>${head.replace(/^#+ /, "")}</h2><p class="note">${how}</p></div>`;
  }
  if (!Array.isArray(rows)) return markup``;
  const lines = linesOf(
    rows.flatMap((row) => rowOf(row)),
    measured,
    frame,
    depths,
  );
  return chartMarkup({
    ...frame,
    title: text(title),
    lines,
    stacked: stacked === true,
    empty: "no value in this run",
  });
}

function rowOf(row: Json): readonly Row[] {
  if (!Array.isArray(row)) return [];
  const names = row.filter((each) => typeof each === "string");
  const last = row.at(-1);
  return [{ names, options: isObject(last) ? last : {} }];
}

function linesOf(rows: readonly Row[], measured: Measured, frame: Frame, depths: DepthsSeen): readonly Line[] {
  const byId = new Map<string, readonly Point[]>();
  const plain = rows.map(({ names, options }) => {
    const points = pointsOf(names, options, measured, frame, depths);
    if (typeof options["id"] === "string") byId.set(options["id"], points);
    return points;
  });
  return rows.flatMap(({ options }, place): readonly Line[] => {
    if (options["visible"] === false) return [];
    const label = text(options["label"] ?? "");
    const { expression } = options;
    if (typeof expression !== "string") return [{ label, points: plain[place] ?? [] }];
    const queried = queriedLines(expression, label, measured, frame) ?? hourly(expression, rows, measured, frame);
    return queried ?? [{ label, points: computed(expression, byId) }];
  });
}

function pointsOf(
  [space, name = "", ...dimensions]: readonly string[],
  options: JsonObject,
  measured: Measured,
  frame: Frame,
  depths: DepthsSeen,
): readonly Point[] {
  if (space === "AWS/SQS") return depths(dimensions[1] ?? "", name);
  if (space !== namespace || !isMetric(name)) return [];
  const wanted = Object.fromEntries(
    dimensions.flatMap((key, place) => (place % 2 === 0 ? [[key, dimensions[place + 1]]] : [])),
  );
  const statistic = statistics[text(options["stat"] ?? "Average")] ?? "average";
  const found = measured.series({ ...frame, name, by: Object.keys(wanted), statistic });
  return (
    found.find(({ dimensions: its }) => Object.entries(wanted).every(([key, value]) => its[key] === value))?.points ??
    []
  );
}

/** Metrics Insights, and searches, as our dashboard writes them; undefined: neither. */
function queriedLines(
  expression: string,
  label: string,
  measured: Measured,
  frame: Frame,
): readonly Line[] | undefined {
  const select =
    /^SELECT (\w+)\("(\w+)"\) FROM SCHEMA\("\w+"((?:, "\w+")*)\)(?: GROUP BY ([^O]*?))?(?: ORDER BY .*)?$/.exec(
      expression,
    );
  const search = /SEARCH\('\{\w+((?:,\w+)*)\} MetricName="(\w+)"', '(\w+)', \d+\)/.exec(expression);
  const [name, by, word, groups] =
    select === null
      ? [search?.[2], search?.[1], search?.[3], undefined]
      : [select[2], select[3], select[1], select[4] ?? ""];
  if (name === undefined || !isMetric(name)) return undefined;
  const statistic = statistics[word ?? ""] ?? "sum";
  const series = measured.series({ ...frame, name, by: wordsIn(by), statistic });
  const isSum = expression.startsWith("SUM(");
  const keys = groups === undefined ? (isSum ? [] : wordsIn(by)) : wordsIn(groups);
  const grouped = Map.groupBy(series, ({ dimensions }) => keys.map((key) => dimensions[key]).join(" "));
  return [...grouped].map(([group, its]) => ({
    label: group === "" ? label : group,
    points: merged(
      its.map(({ points }) => points),
      statistic,
    ),
  }));
}

/** What was used, as so much an hour: of a query that has an id. */
function hourly(
  expression: string,
  rows: readonly Row[],
  measured: Measured,
  frame: Frame,
): readonly Line[] | undefined {
  const [, id] = /^(\w+) \* \(3600 \/ PERIOD\(\w+\)\)$/.exec(expression) ?? [];
  const query = rows.find(({ options }) => id !== undefined && options["id"] === id)?.options["expression"];
  if (typeof query !== "string") return undefined;
  const factor = 3_600_000 / frame.bucketMs;
  return queriedLines(query, "", measured, frame)?.map(({ label, points }) => ({
    label,
    points: points.map(({ atMs, value }) => ({ atMs, value: value * factor })),
  }));
}

function wordsIn(list = ""): readonly string[] {
  return [...list.matchAll(/\w+/g)].map(([word]) => word);
}

function merged(all: readonly (readonly Point[])[], statistic: Statistic): readonly Point[] {
  const values = Map.groupBy(all.flat(), ({ atMs }) => atMs);
  return [...values]
    .map(([atMs, points]) => {
      const each = points.map(({ value }) => value);
      return { atMs, value: statistic === "sum" ? each.reduce((sum, value) => sum + value, 0) : Math.max(...each) };
    })
    .toSorted((a, b) => a.atMs - b.atMs);
}

/** The two forms of arithmetic that the dashboard has: a share of another, and a share of a sum. */
function computed(expression: string, byId: ReadonlyMap<string, readonly Point[]>): readonly Point[] {
  const [, part = "", whole = ""] = /^100 \* (\w+) \/ \(?([\w +]+)\)?$/.exec(expression) ?? [];
  const parts = new Map((byId.get(part) ?? []).map(({ atMs, value }) => [atMs, value]));
  const wholes = merged(
    whole.split(" + ").map((id) => byId.get(id) ?? []),
    "sum",
  );
  return wholes
    .filter(({ value }) => value > 0)
    .map(({ atMs, value }) => ({ atMs, value: (100 * (parts.get(atMs) ?? 0)) / value }));
}

function isMetric(name: string): name is MetricName {
  return Object.hasOwn(metrics, name);
}
