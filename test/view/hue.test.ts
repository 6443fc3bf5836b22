import { describe, expect, test } from "vitest";

import { huesOf } from "../../lib/view/hue.ts";

describe("the colours of a chart", () => {
  test.each([
    ["outcomes of attempts", "answered throttled daily not-ready transient hung target context cut fatal"],
    ["ends of jobs", "succeeded failed expired cancelled"],
    ["lanes", "rt bg bulk"],
  ])("differ for all %s, and are the same for each of them alone", (_says, words) => {
    const labels = words.split(" ");
    const together = huesOf(labels);
    expect(new Set(together).size).toBe(labels.length);
    expect(labels.flatMap((label) => huesOf([label]))).toEqual(together);
  });

  test("are a lane's at every percentile, and an end's by the metric's name too", () => {
    expect(huesOf(["bg p50", "bg p95"])).toEqual(huesOf(["bg", "bg"]));
    expect(huesOf(["JobsFailed"])).toEqual(huesOf(["failed"]));
  });

  test("of what has no word of its own are none that another has", () => {
    const labels = ["succeeded", "fast-text us-west-2", "bg", "fast-text us-east-1"];
    expect(new Set(huesOf(labels)).size).toBe(labels.length);
  });

  test("suffice for more lines than there are colours", () => {
    const labels = Array.from({ length: 25 }, (_, place) => `target ${place}`);
    expect(huesOf(labels)).toHaveLength(25);
  });
});
