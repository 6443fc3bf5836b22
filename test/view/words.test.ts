import { describe, expect, test } from "vitest";
import { counted, forMore, grouped, moment, span } from "../../lib/view/words.ts";
import { t0 } from "../a.ts";

test.each([
  [0, "0 s"],
  [-5_000, "0 s"],
  [499, "0 s"],
  [59_400, "59 s"],
  [59_600, "1 min"],
  [61_000, "1 min 1 s"],
  [3_600_000, "1 h"],
  [3_725_000, "1 h 2 min"],
  [86_400_000, "1 d"],
  [93_600_000, "1 d 2 h"],
])("%i ms are said as %s", (ms, said) => expect(span(ms)).toBe(said));

describe("a moment", () => {
  test("is told by its distance, and shown whole to whoever points at it", () => {
    expect(moment(t0 + 5_000, t0).text).toBe(
      '<time datetime="2026-11-29T12:00:05.000Z" title="2026-11-29T12:00:05.000Z">in 5 s</time>',
    );
    expect(moment(t0 - 5_000, t0).text).toContain(">5 s ago<");
    expect(moment(t0, t0).text).toContain(">in 0 s<");
    expect(forMore(t0 + 5_000, t0).text).toContain(">for 5 s more<");
  });

  test("that no calendar has, in a row that somebody damaged, hides nothing else", () => {
    expect(moment(-1e300, t0).text).toContain('datetime="-271821-04-20T00:00:00.000Z"');
    expect(forMore(-1e300, t0).text).toContain(">for 0 s more<");
  });

  test("that nobody meant as one is none", () => {
    expect(moment(99_999_999_999_999, t0).text).toBe("until resumed");
    expect(forMore(99_999_999_999_999, t0).text).toBe("until resumed");
  });
});

test.each([
  [0, "0 jobs"],
  [1, "1 job"],
  [1_000, "1,000 jobs"],
  [1_234_567, "1,234,567 jobs"],
])("%i is counted as %s", (count, said) => expect(counted(count, "job")).toBe(said));

test("thousands are set apart", () => expect(grouped(120_000)).toBe("120,000"));
