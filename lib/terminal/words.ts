import { columnsOf } from "./width.ts";

/** What a person reads beside a label is laid out for so many columns where nobody says how wide the terminal is. */
export const columnsMax = 80;
const labelColumns = 10;

/** A label, and beside it what belongs to it, broken between words. */
export function laid(label: string, words: readonly string[], columns = columnsMax): readonly string[] {
  if (words.length === 0) return [];
  const lines: string[] = [];
  let line = `  ${label.padEnd(labelColumns)}`;
  for (const [place, word] of words.entries()) {
    if (place > 0 && columnsOf(line) + 1 + columnsOf(word) > columns) {
      lines.push(line);
      line = " ".repeat(labelColumns + 2);
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

export function commas(items: readonly string[]): readonly string[] {
  return items.map((item, place) => (place < items.length - 1 ? `${item},` : item));
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What there is none of is left out, but for `succeeded`. */
export function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([name, count]) => count > 0 || name === "succeeded")
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** How long something lasts, in the one or two units that matter: `4.2 s`, `3 min 10 s`, `2 h 5 min`, `3 d 4 h`. */
export function lasting(ms: number): string {
  if (ms < minuteMs) return ms < 10_000 ? seconds(Math.max(0, ms)) : `${Math.floor(ms / 1_000)} s`;
  if (ms < hourMs) return pair(ms, minuteMs, "min", 1_000, "s");
  if (ms < dayMs) return pair(ms, hourMs, "h", minuteMs, "min");
  return pair(ms, dayMs, "d", hourMs, "h");
}

function pair(ms: number, bigMs: number, big: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  return `${Math.floor(ms / bigMs)} ${big}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

/** A time as one reads it at night: how far away it is. */
export function when(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `in ${lasting(atMs - nowMs)}` : `${lasting(nowMs - atMs)} ago`;
}
