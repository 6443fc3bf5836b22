import { isEndless } from "../core/override.ts";
import { span } from "../core/words.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";

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
