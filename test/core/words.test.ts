import { describe, expect, test } from "vitest";
import { counted, grouped, lasting, seconds, span } from "../../lib/core/words.ts";

describe("a duration is told in the units that matter", () => {
  test.each([
    [-5_000, "0 s", "0.0 s"],
    [0, "0 s", "0.0 s"],
    [499, "0 s", "0.5 s"],
    [4_249, "4 s", "4.2 s"],
    [10_000, "10 s", "10.0 s"],
    [59_400, "59 s", "59.4 s"],
    [59_949, "1 min", "59.9 s"],
    [59_950, "1 min", "1 min"],
    [60_000, "1 min", "1 min"],
    [61_000, "1 min 1 s", "1 min 1 s"],
    [190_000, "3 min 10 s", "3 min 10 s"],
    [3_599_600, "1 h", "1 h"],
    [3_600_000, "1 h", "1 h"],
    [3_725_000, "1 h 2 min", "1 h 2 min"],
    [86_400_000, "1 d", "1 d"],
    [273_600_000, "3 d 4 h", "3 d 4 h"],
  ])("%d ms are %s, or %s", (ms, spanned, lasted) => {
    expect(span(ms)).toBe(spanned);
    expect(lasting(ms)).toBe(lasted);
  });

  test("in seconds alone where they stand in a column", () => expect(seconds(83_250)).toBe("83.3 s"));
});

test.each([
  [0, "0 jobs"],
  [1, "1 job"],
  [1_000, "1,000 jobs"],
  [1_234_567, "1,234,567 jobs"],
])("%i is counted as %s", (count, said) => expect(counted(count, "job")).toBe(said));

test("a plural of its own", () => expect(counted(2, "process", "processes")).toBe("2 processes"));

test("thousands are set apart", () => expect(grouped(120_000)).toBe("120,000"));
