import type { Usage } from "./attempt.ts";
import type { Config, Price } from "./config.ts";
import type { Json } from "./json.ts";
import { lanes } from "./lane.ts";
import type { Lane } from "./lane.ts";
import type { Overrides } from "./override.ts";
import { costUsd } from "./reply.ts";

/** A lane's money is counted by the day, UTC: `2026-11-29`. */
export interface BudgetDay {
  readonly lane: Lane;
  readonly day: string;
}

/** What a lane has spent on a day. Whole nano-USD add up exactly, and no token costs less than a few of them. */
export interface Spent {
  readonly day: string;
  readonly nanoUsd: number;
}

/** What a container adds to a day's sum. Its additions are numbered, so that a resend is known for one. */
export interface Addition {
  readonly nanoUsd: number;
  /** The container's own word for itself, twelve characters that no other has. */
  readonly by: string;
  /** Above those of its additions before. */
  readonly number: number;
}

/** A lane that has spent its budget waits until then, epoch ms. */
export interface BudgetPause {
  readonly untilMs: number;
  readonly spentUsd: number;
  readonly budgetUsd: number;
}

const dayMs = 86_400_000;
const nanoPerUsd = 1_000_000_000;
/** The row of a day outlives it by so much, for whoever asks afterwards. */
const rowKeptDays = 35;

export function dayOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/** The next midnight UTC, epoch ms. */
export function dayEndMs(nowMs: number): number {
  return (Math.floor(nowMs / dayMs) + 1) * dayMs;
}

/** When the row of a day that is now may go, in epoch seconds. */
export function spentTtlS(nowMs: number): number {
  return dayEndMs(nowMs) / 1_000 + (rowKeptDays * dayMs) / 1_000;
}

/** The lanes of which spending is counted: those that have a budget in the config. */
export function budgetedLanes(config: Pick<Config, "lanes">): readonly Lane[] {
  return lanes.filter((lane) => config.lanes[lane].dailyBudgetUsd !== undefined);
}

/** What a lane may spend today: its operator's word, else the config's. Undefined: nobody counts. */
export function budgetUsdOf(
  lane: Lane,
  config: Pick<Config, "lanes">,
  overrides: Pick<Overrides, "lanes">,
): number | undefined {
  const { dailyBudgetUsd } = config.lanes[lane];
  return dailyBudgetUsd === undefined ? undefined : (overrides.lanes.get(lane)?.budgetUsd ?? dailyBudgetUsd);
}

/** Whether a lane waits for midnight since its budget is spent; `spent` of another day is nothing. */
export function budgetPause(
  lane: Lane,
  spent: Spent | undefined,
  config: Pick<Config, "lanes">,
  overrides: Pick<Overrides, "lanes">,
  nowMs: number,
): BudgetPause | undefined {
  const budgetUsd = budgetUsdOf(lane, config, overrides);
  const nanoUsd = spent?.day === dayOf(nowMs) ? spent.nanoUsd : 0;
  if (budgetUsd === undefined || nanoUsd < budgetUsd * nanoPerUsd) return undefined;
  return { untilMs: dayEndMs(nowMs), spentUsd: nanoUsd / nanoPerUsd, budgetUsd };
}

/**
 * What an attempt is charged, in whole nano-USD, rounded up. Tokens that were perhaps billed count, and at the dearer of
 * the two prices, for nobody knows which they are: a budget that is kept too well is the smaller harm.
 */
export function chargeNanoUsd(usage: Usage, price: Price): number {
  const perhapsUsd = (usage.possiblyBilledTokens * Math.max(price.inputPerMTok, price.outputPerMTok)) / 1_000_000;
  // What is less than a thousandth of one comes of floating point.
  return Math.ceil(Math.max(0, (costUsd(usage, price) + perhapsUsd) * nanoPerUsd - 0.001));
}

/** What the budget of a lane stands at, for people. */
export function standingOfBudget(nanoUsd: number, budgetUsd: number) {
  const spentUsd = nanoUsd / nanoPerUsd;
  return { spentUsd, budgetUsd, usedPercent: budgetUsd > 0 ? (100 * spentUsd) / budgetUsd : 100 };
}

/** A day's sum as it stands in the table, where somebody may have written it by hand; undefined: it is none. */
export function readSpent(value: Json): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** All of them, with their marks, stay within the kilobyte that a write unit pays for. */
const slotsOfDay = 32;

/**
 * Where a day's row remembers the last addition of a container, and by what. Containers that share a slot forget for each
 * other: then a resend may count twice. `begins`: what all marks of this container begin with; they grow as texts do.
 */
export function markOf({ by, number }: Addition): {
  readonly slot: string;
  readonly begins: string;
  readonly mark: string;
} {
  const sum = Array.from(by, (letter) => letter.charCodeAt(0)).reduce((codes, code) => codes + code, 0);
  const begins = `${by}#`;
  return { slot: `by${sum % slotsOfDay}`, begins, mark: begins + String(number).padStart(9, "0") };
}

/** The name of a day's row. */
export function budgetName({ lane, day }: BudgetDay): string {
  return `${lane}#${day}`;
}
