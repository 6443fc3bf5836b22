import { describe, expect, test } from "vitest";

import { createMeasured } from "../../../infra/local/page/measured.ts";
import type { Asked, Statistic } from "../../../infra/local/page/measured.ts";

const t0 = Date.UTC(2026, 10, 29, 12);

/** As the Powertools write it: many values of a metric are a list. */
const emf = (afterMs: number, dimensions: Record<string, string>, values: Record<string, number | number[]>) => ({
  _aws: {
    Timestamp: t0 + afterMs,
    CloudWatchMetrics: [
      {
        Namespace: "Sluice",
        Dimensions: [Object.keys(dimensions)],
        Metrics: Object.keys(values).map((Name) => ({ Name, Unit: "Count" })),
      },
    ],
  },
  ...dimensions,
  ...values,
});
const asked: Asked = {
  name: "JobsStarted",
  by: ["lane"],
  statistic: "sum",
  fromMs: t0,
  toMs: t0 + 10_000,
  bucketMs: 1_000,
};

describe("what the workers measure", () => {
  test("is a series for each of a metric's dimensions, a point for each bucket that has a value", () => {
    const measured = createMeasured();
    measured.hear(emf(100, { lane: "bg" }, { JobsStarted: [1, 1] }));
    measured.hear(emf(900, { lane: "bg" }, { JobsStarted: 1 }));
    measured.hear(emf(2_000, { lane: "bg" }, { JobsStarted: 1 }));
    measured.hear(emf(2_000, { lane: "rt" }, { JobsStarted: 5 }));
    expect(measured.series(asked)).toEqual([
      {
        name: "JobsStarted",
        dimensions: { lane: "bg" },
        points: [
          { atMs: t0, value: 3 },
          { atMs: t0 + 2_000, value: 1 },
        ],
      },
      { name: "JobsStarted", dimensions: { lane: "rt" }, points: [{ atMs: t0 + 2_000, value: 5 }] },
    ]);
    expect(measured.series({ ...asked, bucketMs: 5_000 })[0]?.points).toEqual([{ atMs: t0, value: 4 }]);
  });

  test("is another metric under other dimensions", () => {
    const measured = createMeasured();
    measured.hear(emf(0, { lane: "bg", code: "no_capacity" }, { JobsStarted: 1 }));
    measured.hear(emf(0, {}, { RowsSwept: 4 }));
    expect(measured.series(asked)).toEqual([]);
    expect(measured.series({ ...asked, by: ["code", "lane"] })).toHaveLength(1);
    expect(measured.series({ ...asked, name: "RowsSwept", by: [] })).toHaveLength(1);
  });

  test("is not what others embed, nor what is no number", () => {
    const measured = createMeasured();
    const theirs = emf(0, { lane: "bg" }, { JobsStarted: 1 });
    measured.hear({ ...theirs, _aws: { ...theirs._aws, CloudWatchMetrics: [{ Namespace: "Theirs" }] } });
    measured.hear({ ...theirs, JobsStarted: "many" });
    measured.hear({ _aws: null });
    measured.hear({ jobId: "order-1" });
    expect(measured.series(asked)).toEqual([]);
  });

  test("is kept for a quarter of an hour", () => {
    const measured = createMeasured();
    measured.hear(emf(0, { lane: "bg" }, { JobsStarted: 1 }));
    measured.hear(emf(901_000, { lane: "bg" }, { JobsStarted: 2 }));
    const all = { ...asked, toMs: t0 + 1_000_000 };
    expect(measured.series(all)[0]?.points.map(({ value }) => value)).toEqual([2]);
    expect(measured.sinceMs()).toBe(t0);
  });
});

/** The points of a metric, all of which came within ten seconds. */
function pointOf(statistic: Statistic, ...lines: readonly ReturnType<typeof emf>[]): number | undefined {
  const measured = createMeasured();
  for (const line of lines) measured.hear(line);
  return measured.series({ ...asked, statistic, bucketMs: 10_000 })[0]?.points[0]?.value;
}

test.each([
  ["sum", 110],
  ["average", 22],
  ["max", 100],
  ["min", 1],
  ["p50", 3],
  ["p95", 100],
  ["p99", 100],
] as const)("the %s of 1, 2, 3, 4 and 100 is %i", (statistic, value) =>
  expect(pointOf(statistic, emf(0, { lane: "bg" }, { JobsStarted: [100, 4, 3, 2, 1] }))).toBe(value),
);

describe("of very many values in a second", () => {
  const many = Array.from({ length: 200_000 }, (_, place) => place + 1);
  const line = emf(0, { lane: "bg" }, { JobsStarted: many });

  test.each([
    ["sum", 20_000_100_000],
    ["average", 100_000.5],
    ["max", 200_000],
    ["min", 1],
  ] as const)("the %s is exact", (statistic, value) => expect(pointOf(statistic, line)).toBe(value));

  test.each([
    ["p50", 100_000],
    ["p95", 190_000],
  ] as const)("the %s is near", (statistic, value) => {
    const part = (pointOf(statistic, line) ?? 0) / value;
    expect(part).toBeGreaterThan(0.95);
    expect(part).toBeLessThan(1.05);
  });

  test("the percentiles count for as many as they are, beside a second with few", () => {
    const few = emf(1_000, { lane: "bg" }, { JobsStarted: Array.from({ length: 100 }, () => 1_000_000) });
    expect(pointOf("p95", line, few)).toBeLessThan(200_001);
  });
});

test("a line without a time is not measured, and spoils no other", () => {
  const measured = createMeasured();
  const timed = emf(0, { lane: "bg" }, { JobsStarted: 1 });
  measured.hear({ ...timed, _aws: { ...timed._aws, Timestamp: "soon" } });
  expect(measured.sinceMs()).toBeUndefined();
  measured.hear(timed);
  expect(measured.sinceMs()).toBe(t0);
});
