import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { describe, expect, test } from "vitest";
import { metrics } from "../../lib/core/metrics.ts";
import type { MetricName } from "../../lib/core/metrics.ts";
import { eachTarget, grouped, metric, total } from "../../infra/metrics.ts";

const names = Object.keys(metrics).filter((name): name is MetricName => name in metrics);

describe("a metric is asked for as it is emitted", () => {
  test("by its lane", () =>
    expect(metric("JobAgeMs", { lane: "rt" }, "Maximum")).toMatchObject({
      namespace: "Sluice",
      metricName: "JobAgeMs",
      dimensions: { lane: "rt" },
    }));

  test("or not at all", () => {
    expect(() => metric("JobAgeMs", { model: "fast", target: "west" }, "Maximum")).toThrow(
      "JobAgeMs is never emitted by model, target",
    );
    expect(() => grouped("JobAgeMs", ["code"])).toThrow("JobAgeMs is never emitted by code");
    expect(() => metric("JobAgeMs", {}, "Maximum")).toThrow("JobAgeMs is never emitted by nothing");
  });
});

describe("a query", () => {
  test("adds up by some dimensions what is split by more, and names no value of them", () =>
    expect(grouped("Attempts", ["outcome"])).toBe(
      'SELECT SUM("Attempts") FROM SCHEMA("Sluice", "lane", "model", "target", "outcome") GROUP BY "outcome"',
    ));

  test("takes the smallest set that has them, for a value counts once in each", () => {
    expect(grouped("JobsFailed", ["lane"])).toBe(
      'SELECT SUM("JobsFailed") FROM SCHEMA("Sluice", "lane") GROUP BY "lane"',
    );
    expect(grouped("JobsFailed", ["code"])).toContain('SCHEMA("Sluice", "lane", "code") GROUP BY "code"');
  });

  test("shows the highest, where there may be many", () =>
    expect(grouped("LeaseLimit", ["model", "target"], "MAX", 10)).toMatch(
      /^SELECT MAX\("LeaseLimit"\) .* GROUP BY "model", "target" ORDER BY MAX\(\) DESC LIMIT 10$/,
    ));
});

describe("a search", () => {
  test("finds a percentile for each target, and shows the highest", () =>
    expect(eachTarget("ProviderMs", "p95")).toBe(
      `SORT(SEARCH('{Sluice,model,target} MetricName="ProviderMs"', 'p95', 60), MAX, DESC, 10)`,
    ));

  test("adds up a count, by one set of its dimensions", () =>
    expect(total("JobsFailed").toMetricConfig().mathExpression?.expression).toBe(
      `SUM(SEARCH('{Sluice,lane} MetricName="JobsFailed"', 'Sum', 60))`,
    ));

  test("is not needed where a metric is not split", () => expect(total("RowsSwept")).toBeInstanceOf(Metric));

  test.each(names)("for %s is no longer than CloudWatch takes", (name) => {
    const { mathExpression } = total(name).toMetricConfig();
    expect((mathExpression?.expression ?? "").length).toBeLessThan(1_024);
  });
});
