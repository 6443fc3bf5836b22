import { describe, expect, test } from "vitest";
import { nextJobId, rerunOf } from "../../lib/core/rerun.ts";
import { a, t0 } from "../a.ts";

describe("the id of a job that is run again", () => {
  const rows: [jobId: string, taken: string[], next: string | undefined][] = [
    ["order-8812-summary", [], "order-8812-summary~2"],
    ["order-8812-summary~2", [], "order-8812-summary~3"],
    ["order-8812-summary~9", [], "order-8812-summary~10"],
    ["order-8812-summary", ["order-8812-summary~2", "order-8812-summary~3"], "order-8812-summary~4"],
    ["order-8812-summary", ["order-8812-summary~3"], "order-8812-summary~2"],
    ["order-8812-summary", ["order-8812-summary~2"], "order-8812-summary~3"],
    ["a~b", [], "a~b~2"],
    ["a~0", [], "a~0~2"],
    ["a~02", [], "a~02~2"],
    ["a~", [], "a~~2"],
    ["~3", [], "~3~2"],
    ["a~2~7", [], "a~2~8"],
    ["a~12345678901234567890", [], "a~12345678901234567890~2"],
    ["x".repeat(126), [], `${"x".repeat(126)}~2`],
    ["x".repeat(127), [], undefined],
    [`${"x".repeat(126)}~9`, [], undefined],
  ];
  test.each(rows)("of %s, with %j taken, is %s", (jobId, taken, next) =>
    expect(nextJobId(jobId, (id) => taken.includes(id))).toBe(next),
  );
});

describe("a job that is run again", () => {
  test("has the same content under its new id, and a deadline that is still ahead", () => {
    const envelope = a.envelope({ deadlineAtMs: t0 + 1, metadata: { order: "8812" } });
    expect(rerunOf(envelope, "order-8812-summary~2", t0)).toEqual({ ...envelope, jobId: "order-8812-summary~2" });
  });

  test("has the lane's own deadline where its own has passed", () =>
    expect(rerunOf(a.envelope({ deadlineAtMs: t0 }), "again", t0)).toEqual(a.envelope({ jobId: "again" })));
});
