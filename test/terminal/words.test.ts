import { expect, test } from "vitest";
import { laid, when } from "../../lib/terminal/words.ts";

test("a time is told by how far away it is", () => {
  expect(when(1_000, 5_000)).toBe("4 s ago");
  expect(when(65_000, 5_000)).toBe("in 1 min");
});

test("a text beside a label is broken at its spaces, and words that were given whole are not", () => {
  expect(laid("latency", "p50 1.2 s, p99 4.0 s", 24)).toEqual(["  latency    p50 1.2 s,", "             p99 4.0 s"]);
  expect(laid("latency", ["p50 1.2 s,", "p99 4.0 s"], 20)).toEqual([
    "  latency    p50 1.2 s,",
    "             p99 4.0 s",
  ]);
  expect(laid("codes", "")).toEqual([]);
});
