import { describe, expect, test } from "vitest";
import { chartMarkup, niceTop, short } from "../../lib/view/chart.ts";
import type { Chart, Line } from "../../lib/view/chart.ts";
import { t0 } from "../a.ts";
import { seen } from "./an-overview.ts";

const line = (label: string, ...values: readonly number[]): Line => ({
  label,
  points: values.map((value, place) => ({ atMs: t0 + place * 1_000, value })),
});
const draw = (lines: readonly Line[], facts: Partial<Chart> = {}) =>
  chartMarkup({ title: "Leases", lines, fromMs: t0, toMs: t0 + 10_000, bucketMs: 1_000, ...facts }).text;

describe("a chart", () => {
  test("says its title, its lines, their last values, its scale and its time", () => {
    const html = draw([line("in use", 1, 4, 3), line("limit", 20, 20, 18)]);
    expect(html).toContain('aria-label="Leases; last: in use 3, limit 18"');
    expect(seen(html)).toMatch(/^ Leases 20 10 0 12:00:00 12:00:10 UTC in use limit/);
    expect(html.match(/<polyline/g)).toHaveLength(2);
  });

  test("draws a bound as one", () =>
    expect(draw([{ ...line("limit", 5, 5), isBound: true }])).toContain('class="s0 bound"'));

  test("shows a single value as a point", () => expect(draw([line("once", 3)])).toMatch(/<circle class="s0"/));

  test("without any value says so", () => {
    expect(seen(draw([line("none")]))).toContain("nothing was measured yet");
    expect(seen(draw([], { empty: "no job was sent" }))).toContain("no job was sent");
  });

  test("piles up what is stacked, and is as high as the highest pile", () => {
    const html = draw([line("answered", 3, 5), line("throttled", 1, 3)], { stacked: true });
    const bars = [...html.matchAll(/<rect class="s(\d)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/g)];
    expect(bars.map(([, series]) => series)).toEqual(["0", "0", "1", "1"]);
    const [, second, , fourth] = bars;
    expect(Number(fourth?.[3]) + Number(fourth?.[4])).toBeCloseTo(Number(second?.[3]), 1);
    expect(seen(html)).toMatch(/^ Leases 10 5 0/);
  });

  test("keeps within its frame what lies outside of its time", () => {
    const early: Line = {
      label: "early",
      points: [
        { atMs: t0 - 60_000, value: 1 },
        { atMs: t0 + 60_000, value: 1 },
      ],
    };
    const [, points = ""] = /points="([^"]*)"/.exec(draw([early])) ?? [];
    const xs = points
      .split(" ")
      .filter((_, place) => place % 2 === 0)
      .map(Number);
    expect(xs).toEqual([40, 354]);
  });

  test("stays text", () => expect(draw([line("<b>", 1, 2)], { title: "<i>" })).not.toMatch(/<b>|<i>[^<]/));
});

test.each([
  [0, 1],
  [1, 1],
  [1.2, 2],
  [3, 5],
  [7, 10],
  [20, 20],
  [21, 50],
  [3_400, 5_000],
  [0.03, 0.05],
])("a scale for %s goes to %s", (value, top) => expect(niceTop(value)).toBeCloseTo(top));

test.each([
  [0, "0"],
  [2.5, "2.5"],
  [0.034, "0.034"],
  [320.4, "320"],
  [9_999, "9,999"],
  [12_400, "12k"],
])("%s is written as %s beside an axis", (value, text) => expect(short(value)).toBe(text));
