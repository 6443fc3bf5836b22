import { grouped, span } from "../core/words.ts";
import { columnsOf } from "./width.ts";

/** What a person reads beside a label is laid out for so many columns where nobody says how wide the terminal is. */
export const columnsMax = 80;
const labelColumns = 10;

/** A label, and beside it what belongs to it: a text broken at its spaces, or words of which none is broken. */
export function laid(label: string, said: string | readonly string[], columns = columnsMax): readonly string[] {
  const words = typeof said === "string" ? said.split(" ").filter((word) => word !== "") : said;
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

/** What there is none of is left out, but for `succeeded`. */
export function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([name, count]) => count > 0 || name === "succeeded")
    .map(([name, count]) => `${grouped(count)} ${name}`)
    .join(", ");
}

/** A time as one reads it at night: how far away it is. */
export function when(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `in ${span(atMs - nowMs)}` : `${span(nowMs - atMs)} ago`;
}
