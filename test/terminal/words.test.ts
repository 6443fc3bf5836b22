import { describe, expect, test } from "vitest";

import { lasting, when } from "../../lib/terminal/words.ts";

describe("a duration is told in the units that matter", () => {
  test.each([
    [-5, "0.0 s"],
    [0, "0.0 s"],
    [4_249, "4.2 s"],
    [10_000, "10 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [190_000, "3 min 10 s"],
    [3_600_000, "1 h"],
    [7_500_000, "2 h 5 min"],
    [86_400_000, "1 d"],
    [273_600_000, "3 d 4 h"],
  ])("%d ms is %s", (ms, text) => expect(lasting(ms)).toBe(text));
});

test("a time is told by how far away it is", () => {
  expect(when(1_000, 5_000)).toBe("4.0 s ago");
  expect(when(65_000, 5_000)).toBe("in 1 min");
});
