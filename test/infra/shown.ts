/** Which of our metrics a dashboard or an alarm asks for, and by which dimensions. */
import { metrics } from "../../lib/core/metrics.ts";
import type { MetricFacts } from "../../lib/core/metrics.ts";
import type { Template } from "./synth.ts";

export interface Shown {
  readonly name: string;
  readonly by: readonly string[];
}

interface Widget {
  readonly type: string;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    /** Rows of `[namespace, name, dimension, value, …, { options }]`, or of `[{ expression }]`. */
    readonly metrics?: readonly (readonly (string | Readonly<Record<string, unknown>>)[])[];
  };
}

/** As CloudWatch gets it, with whatever only CloudFormation knows replaced by `X`. */
export function bodyOf(built: Template): string {
  const [dashboard] = Object.values(built.findResources("AWS::CloudWatch::Dashboard"));
  const parts: readonly unknown[] = dashboard?.["Properties"].DashboardBody["Fn::Join"][1];
  return parts.map((part) => (typeof part === "string" ? part : "X")).join("");
}

export function widgetsOf(built: Template): readonly Widget[] {
  const { widgets }: { readonly widgets: readonly Widget[] } = JSON.parse(bodyOf(built));
  return widgets;
}

export function expressionsOf({ properties: { metrics: rows = [] } }: Widget): readonly string[] {
  return rows.flatMap(([first]) => (typeof first === "object" ? [String(first["expression"])] : []));
}

export function shownBy(widget: Widget): readonly Shown[] {
  const rows = widget.properties.metrics ?? [];
  const plain = rows.flatMap(([namespace, name, ...rest]): Shown[] => {
    if (namespace !== "Sluice" || typeof name !== "string") return [];
    const texts = rest.filter((each) => typeof each === "string");
    return [{ name, by: texts.filter((_each, place) => place % 2 === 0) }];
  });
  return [...plain, ...expressionsOf(widget).flatMap(shownIn)];
}

/** What a query of Metrics Insights or a search asks for. */
export function shownIn(expression: string): readonly Shown[] {
  const query = /SELECT \w+\("(\w+)"\) FROM SCHEMA\("Sluice"([^)]*)\)/.exec(expression);
  const search = /SEARCH\('\{Sluice([^}]*)\} MetricName="(\w+)"'/.exec(expression);
  const [name, set] = query === null ? [search?.[2], search?.[1]] : [query[1], query[2]];
  if (name === undefined) return [];
  return [{ name, by: (set ?? "").split(",").flatMap((each) => each.replaceAll(/[" ]/g, "") || []) }];
}

/** What nothing emits like that. */
export function neverEmitted(shown: readonly Shown[]): readonly Shown[] {
  const known: Readonly<Record<string, MetricFacts>> = metrics;
  return shown.filter(({ name, by }) => !known[name]?.by.some((set) => sorted(set) === sorted(by)));
}

function sorted(set: readonly string[]): string {
  return set.toSorted().join();
}
