import { isEndless } from "../core/override.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Two units at most: `4 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function span(ms: number): string {
  const rounded = Math.max(0, Math.round(ms / secondMs)) * secondMs;
  if (rounded < minuteMs) return `${rounded / secondMs} s`;
  if (rounded < hourMs) return units(rounded, minuteMs, "min", secondMs, "s");
  if (rounded < dayMs) return units(rounded, hourMs, "h", minuteMs, "min");
  return units(rounded, dayMs, "d", hourMs, "h");
}

/** Of less than a minute tenths of a second count: `4.2 s`, else as `span`. */
export function exact(ms: number): string {
  return ms < minuteMs ? `${(ms / secondMs).toFixed(1)} s` : span(ms);
}

function units(ms: number, bigMs: number, big: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  return `${Math.floor(ms / bigMs)} ${big}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

/** The most that a Date takes. */
const dateMsMax = 8.64e15;

/** The nearest there is: one row that somebody has damaged must not keep all others from being seen. */
function isoOf(atMs: number): string {
  return new Date(Math.max(-dateMsMax, Math.min(dateMsMax, atMs))).toISOString();
}

/** How far off a moment is, with the moment itself for whoever points at it. */
export function moment(atMs: number, nowMs: number): Markup {
  if (isEndless(atMs, nowMs)) return markup`until resumed`;
  const iso = isoOf(atMs);
  const said = atMs >= nowMs ? `in ${span(atMs - nowMs)}` : `${span(nowMs - atMs)} ago`;
  return markup`<time datetime="${iso}" title="${iso}">${said}</time>`;
}

/** `until` a moment: `for 20 s more`. */
export function forMore(untilMs: number, nowMs: number): Markup {
  if (isEndless(untilMs, nowMs)) return markup`until resumed`;
  const iso = isoOf(untilMs);
  return markup`<time datetime="${iso}" title="${iso}">for ${span(untilMs - nowMs)} more</time>`;
}

/** `1 job`, `12,000 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Thousands set apart. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}
