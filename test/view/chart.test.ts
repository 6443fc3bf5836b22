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

  test.each(["bound", "tail"] as const)("draws a %s as one, in its legend too", (as) => {
    const html = draw([{ ...line("limit", 5, 5), as }]);
    expect(html).toContain(`<polyline class="h-grey ${as}"`);
    expect(html).toContain(`<i class="${as}">`);
  });

  test("shows a single value as a point", () => expect(draw([line("once", 3)])).toMatch(/<circle class="h-blue"/));

  test("draws no line through a time of which nothing is known", () => {
    const points = [0, 1, 2, 30, 31, 60].map((place) => ({ atMs: t0 + place * 1_000, value: 1 }));
    const html = draw([{ label: "once in a while", points }], { toMs: t0 + 60_000 });
    expect([html.match(/<polyline/g)?.length, html.match(/<circle/g)?.length]).toEqual([2, 1]);
  });

  test("has the same colour for an outcome whatever stands beside it", () => {
    const colourOf = (html: string) => /<rect class="(h-\w+)"/.exec(html)?.[1];
    const alone = colourOf(draw([line("succeeded", 1)], { stacked: true }));
    expect(draw([line("cancelled", 1), line("succeeded", 1)], { stacked: true })).toContain(`<li class="${alone}"`);
    expect(alone).toBe("h-green");
  });

  test("says beside each name, if it is to, the last of a line, and of what is stacked how much it is in all", () => {
    const lines = [line("answered", 3, 5), line("throttled", 1)];
    expect(seen(draw(lines, { numbered: true }))).toMatch(/UTC answered 5 throttled 1 $/);
    const html = draw(lines, { numbered: true, stacked: true });
    expect(html).toContain('aria-label="Leases; in all: answered 8, throttled 1"');
    expect(seen(html)).toMatch(/UTC answered 8 throttled 1 $/);
  });

  test("without any value says so", () => {
    expect(seen(draw([line("none")]))).toContain("nothing was measured yet");
    expect(seen(draw([], { empty: "no job was sent" }))).toContain("no job was sent");
  });

  test("piles up what is stacked, and is as high as the highest pile", () => {
    const html = draw([line("answered", 3, 5), line("throttled", 1, 3)], { stacked: true });
    const bars = [
      ...html.matchAll(/<rect class="h-(\w+)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/g),
    ];
    expect(bars.map(([, series]) => series)).toEqual(["green", "green", "amber", "amber"]);
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
    const xs = [...draw([early]).matchAll(/cx="([\d.]+)"/g)].map(([, x]) => Number(x));
    expect(xs).toEqual([40, 354]);
  });

  test("stays text", () => expect(draw([line("<u>", 1, 2)], { title: "<i>" })).not.toMatch(/<u>|<i>[^<]/));
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
