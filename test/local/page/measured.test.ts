import { describe, expect, test } from "vitest";

import { createMeasured, valueOf } from "../../../infra/local/page/measured.ts";
import type { Asked } from "../../../infra/local/page/measured.ts";

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

test.each([
  ["sum", 110],
  ["average", 22],
  ["max", 100],
  ["min", 1],
  ["p50", 3],
  ["p95", 100],
  ["p99", 100],
] as const)("the %s of 1, 2, 3, 4 and 100 is %i", (statistic, value) =>
  expect(valueOf([100, 4, 3, 2, 1], statistic)).toBe(value),
);
