/** What a person types as a number, a duration or a time. */
import { InvalidArgumentError } from "commander";

export function wholeFrom1(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Give a whole number from 1.");
  return Number(text);
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `15m`, `2h`, `1d` in ms. */
export function duration(text: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,5})(s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms === 0) throw new InvalidArgumentError("Give a duration like 90s, 15m, 2h or 1d.");
  return ms;
}

/** ISO 8601 with its zone, in epoch ms. */
export function instant(text: string): number {
  const ms = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Give a time with its zone, like 2030-01-31T06:00:00Z.");
  return ms;
}
