import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { grouped } from "./words.ts";

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

export interface Line {
  readonly label: string;
  /** In the order of time, at most one for each bucket. */
  readonly points: readonly Point[];
  /** A limit that others are measured against. */
  readonly isBound?: boolean;
}

/** `stacked`: bars, of which the heights add up. Times are epoch ms. */
export interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucketMs: number;
  readonly stacked?: boolean;
  /** What stands there without any line. */
  readonly empty?: string;
}

const [width, height] = [360, 132];
const plot = { left: 40, right: 6, top: 10, bottom: 18 } as const;
const across = width - plot.left - plot.right;
const down = height - plot.top - plot.bottom;
/** Colours that a theme has for lines. */
export const seriesMax = 8;

export function chartMarkup(chart: Chart): Markup {
  const { title, fromMs, toMs, stacked = false, empty = "nothing was measured yet" } = chart;
  const lines = chart.lines.filter(({ points }) => points.length > 0);
  if (lines.length === 0)
    return markup`<figure class="chart"><figcaption>${title}</figcaption><p class="note">${empty}</p></figure>`;
  const top = niceTop(stacked ? highestStack(lines) : highest(lines));
  const said = lines.map(({ label, points }) => `${label} ${short(points.at(-1)?.value ?? 0)}`).join(", ");
  return markup`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}; last: ${said}">
${axes(top, fromMs, toMs)}
${stacked ? bars(lines, chart, top) : lines.map((line, place) => drawn(line, place, chart, top))}
</svg>
<ul class="legend">${lines.map(({ label, isBound = false }, place) => markup`<li class="s${place % seriesMax}"><i${isBound && markup` class="bound"`}></i>${label}</li>`)}</ul></figure>`;
}

function axes(top: number, fromMs: number, toMs: number): Markup {
  const [base, right] = [plot.top + down, plot.left + across];
  const middle = plot.top + down / 2;
  return markup`<path class="grid" d="M${plot.left} ${plot.top}H${right}M${plot.left} ${middle}H${right}M${plot.left} ${base}H${right}"/>
<text class="end" x="${plot.left - 5}" y="${plot.top + 4}">${short(top)}</text><text class="end" x="${plot.left - 5}" y="${middle + 4}">${short(top / 2)}</text><text class="end" x="${plot.left - 5}" y="${base + 4}">0</text>
<text x="${plot.left}" y="${height - 4}">${clockTime(fromMs)}</text><text class="end" x="${right}" y="${height - 4}">${clockTime(toMs)} UTC</text>`;
}

function drawn({ points, isBound = false }: Line, place: number, chart: Chart, top: number): Markup {
  const at = points.map((point) => `${xOf(point.atMs + chart.bucketMs / 2, chart)} ${yOf(point.value, top)}`);
  const [only, ...others] = at;
  const colour = `s${place % seriesMax}`;
  if (only !== undefined && others.length === 0) {
    const [x = "0", y = "0"] = only.split(" ");
    return markup`<circle class="${colour}" cx="${x}" cy="${y}" r="3"/>`;
  }
  return markup`<polyline class="${colour}${isBound ? " bound" : ""}" points="${at.join(" ")}"/>`;
}

function bars(lines: readonly Line[], chart: Chart, top: number): readonly Markup[] {
  const piled = new Map<number, number>();
  const wide = Math.max(1.5, (across * chart.bucketMs) / Math.max(chart.bucketMs, chart.toMs - chart.fromMs) - 0.5);
  return lines.flatMap(({ points }, place) =>
    points.map(({ atMs, value }) => {
      const below = piled.get(atMs) ?? 0;
      piled.set(atMs, below + value);
      const [y, foot] = [yOf(below + value, top), yOf(below, top)];
      return markup`<rect class="s${place % seriesMax}" x="${xOf(atMs, chart)}" y="${y}" width="${round(wide)}" height="${round(foot - y)}"/>`;
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
