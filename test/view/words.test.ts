import { describe, expect, test } from "vitest";
import { forMore, moment } from "../../lib/view/words.ts";
import { t0 } from "../a.ts";

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
