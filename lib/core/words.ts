/** How numbers are said to people, on a terminal as on a page. */

const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000];

/** Seconds to the tenth: `4.2 s`. */
export function seconds(ms: number): string {
  return `${(Math.max(0, ms) / secondMs).toFixed(1)} s`;
}

/** In whole seconds, and two units at most: `4 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function span(ms: number): string {
  const rounded = Math.max(0, Math.round(ms / secondMs)) * secondMs;
  if (rounded < minuteMs) return `${rounded / secondMs} s`;
  if (rounded < hourMs) return units(rounded, minuteMs, "min", secondMs, "s");
  if (rounded < dayMs) return units(rounded, hourMs, "h", minuteMs, "min");
  return units(rounded, dayMs, "d", hourMs, "h");
}

/** How long something took: of less than a minute tenths of a second count. */
export function lasting(ms: number): string {
  return ms < minuteMs - 50 ? seconds(ms) : span(ms);
}

function units(ms: number, bigMs: number, big: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % bigMs) / smallMs);
  return `${Math.floor(ms / bigMs)} ${big}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

/** `1 job`, `12,000 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Thousands set apart. */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
