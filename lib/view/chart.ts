import { huesOf } from "./hue.ts";
import type { Hue } from "./hue.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { grouped } from "../core/words.ts";

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

export interface Line {
  readonly label: string;
  /** In the order of time, at most one for each bucket. */
  readonly points: readonly Point[];
  /** A limit that others are measured against, or a high percentile beside a lower one: each is drawn in its own way. */
  readonly as?: "bound" | "tail";
}

/** `stacked`: bars, of which the heights add up. Times are epoch ms. */
export interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  readonly stacked?: boolean;
  /** Whether the legend has a number beside each name, so that it says something without the colours. */
  readonly numbered?: boolean;
  /** What stands there without any line. */
  readonly empty?: string;
}

const [width, height] = [360, 132];
const plot = { left: 40, right: 6, top: 10, bottom: 18 } as const;
const across = width - plot.left - plot.right;
const down = height - plot.top - plot.bottom;
/** A line is broken where for longer than so many buckets nothing was measured: what was between is not known. */
const gapMax = 6;

export function chartMarkup(chart: Chart): Markup {
  const { title, fromMs, toMs, stacked = false, numbered = false, empty = "nothing was measured yet" } = chart;
  const lines = chart.lines.filter(({ points }) => points.length > 0);
  if (lines.length === 0)
    return markup`<figure class="chart"><figcaption>${title}</figcaption><p class="note">${empty}</p></figure>`;
  const top = niceTop(stacked ? highestStack(lines) : highest(lines));
  const colours = huesOf(lines.map(({ label }) => label));
  const drawn = lines.map((line, place): Drawn => ({ ...line, hue: colours[place] ?? "blue" }));
  const inAll = stacked && numbered;
  const numbers = drawn.map((line) => short(numberOf(line, inAll)));
  const said = drawn.map(({ label }, place) => `${label} ${numbers[place]}`).join(", ");
  return markup`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}; ${inAll ? "in all" : "last"}: ${said}">
${axes(top, fromMs, toMs)}
${stacked ? bars(drawn, chart, top) : drawn.map((line) => path(line, chart, top))}
</svg>
<ul class="legend">${drawn.map(({ label, hue, as = "" }, place) => markup`<li class="h-${hue}"><i class="${stacked ? "area" : as}"></i>${label}${numbered && markup` <b>${numbers[place] ?? ""}</b>`}</li>`)}</ul></figure>`;
}

interface Drawn extends Line {
  readonly hue: Hue;
}

/** All of its values, or the last. */
function numberOf({ points }: Line, inAll: boolean): number {
  return inAll ? points.reduce((all, { value }) => all + value, 0) : (points.at(-1)?.value ?? 0);
}

function axes(top: number, fromMs: number, toMs: number): Markup {
  const [base, right] = [plot.top + down, plot.left + across];
  const middle = plot.top + down / 2;
  return markup`<path class="grid" d="M${plot.left} ${plot.top}H${right}M${plot.left} ${middle}H${right}M${plot.left} ${base}H${right}"/>
<text class="end" x="${plot.left - 5}" y="${plot.top + 4}">${short(top)}</text><text class="end" x="${plot.left - 5}" y="${middle + 4}">${short(top / 2)}</text><text class="end" x="${plot.left - 5}" y="${base + 4}">0</text>
<text x="${plot.left}" y="${height - 4}">${clockTime(fromMs)}</text><text class="end" x="${right}" y="${height - 4}">${clockTime(toMs)} UTC</text>`;
}

function path({ points, hue, as }: Drawn, chart: Chart, top: number): readonly Markup[] {
  return unbroken(points, gapMax * chart.bucketMs).map((run) => {
    const at = run.map((point) => [xOf(point.atMs + chart.bucketMs / 2, chart), yOf(point.value, top)] as const);
    const [only, ...others] = at;
    if (only !== undefined && others.length === 0)
      return markup`<circle class="h-${hue}" cx="${only[0]}" cy="${only[1]}" r="2.5"/>`;
    const how = as === undefined ? "" : ` ${as}`;
    return markup`<polyline class="h-${hue}${how}" points="${at.map((pair) => pair.join(" ")).join(" ")}"/>`;
  });
}

function unbroken(points: readonly Point[], gapMs: number): readonly (readonly Point[])[] {
  const runs: Point[][] = [];
  for (const point of points) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run === undefined || before === undefined || point.atMs - before.atMs > gapMs) runs.push([point]);
    else run.push(point);
  }
  return runs;
}

function bars(lines: readonly Drawn[], chart: Chart, top: number): readonly Markup[] {
  const piled = new Map<number, number>();
  const wide = Math.max(1.5, (across * chart.bucketMs) / Math.max(chart.bucketMs, chart.toMs - chart.fromMs) - 0.5);
  return lines.flatMap(({ points, hue }) =>
    points.map(({ atMs, value }) => {
      const below = piled.get(atMs) ?? 0;
      piled.set(atMs, below + value);
      const [y, foot] = [yOf(below + value, top), yOf(below, top)];
      return markup`<rect class="h-${hue}" x="${xOf(atMs, chart)}" y="${y}" width="${round(wide)}" height="${round(foot - y)}"/>`;
    }),
  );
}

function xOf(atMs: number, { fromMs, toMs }: Chart): number {
  const part = (atMs - fromMs) / Math.max(1, toMs - fromMs);
  return round(plot.left + across * Math.min(1, Math.max(0, part)));
}

function yOf(value: number, top: number): number {
  return round(plot.top + down * (1 - Math.min(1, value / top)));
}

function highest(lines: readonly Line[]): number {
  return Math.max(...lines.flatMap(({ points }) => points.map(({ value }) => value)));
}

function highestStack(lines: readonly Line[]): number {
  const sums = new Map<number, number>();
  for (const { points } of lines) for (const { atMs, value } of points) sums.set(atMs, (sums.get(atMs) ?? 0) + value);
  return Math.max(...sums.values());
}

/** The next of 1, 2, 5, 10, 20 …: a scale that is read without counting. */
export function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}

/** `1.5`, `320`, `12k`: as much as stands beside an axis. */
export function short(value: number): string {
  if (value >= 10_000) return `${grouped(Math.round(value / 1_000))}k`;
  if (value >= 10 || Number.isInteger(value)) return grouped(Math.round(value));
  return String(Number(value.toPrecision(2)));
}

function clockTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
