import type { Json } from "./json.ts";
import { isObject } from "./json.ts";
import type { Lane } from "./lane.ts";
import type { LimitBounds } from "./limit.ts";
import type { Step } from "./plan.ts";

/** What an operator has set on a ledger. Times are epoch ms. */
export interface LedgerOverride {
  /** At least 1, a whole number: never so low that nothing ends, for that there is `out`. */
  readonly limit?: number;
  readonly pausedUntilMs?: number;
  /** The target takes no attempts until the row goes. */
  readonly out?: true;
}

export interface LaneOverride {
  readonly pausedUntilMs?: number;
  /** In the place of the config's `dailyBudgetUsd`, where it has one, for as long as this stands. */
  readonly budgetUsd?: number;
}

/** A pause without an end: it stands until somebody resumes. The year 5138 is the latest that a reader of the table takes for a time. */
export const foreverMs = 99_999_999_999_999;

const plannedMsMax = 10 * 365 * 86_400_000;

/** Whether a pause stands until it is taken back: later than this is no end that somebody meant. */
export function isEndless(untilMs: number, nowMs: number): boolean {
  return untilMs - nowMs > plannedMsMax;
}

/** Steps `model@target`, or models for all their targets, in the order in which they are tried; the others follow. */
export interface ModelOverride {
  readonly chain?: readonly string[];
}

/** All that operators have said. */
export interface Overrides {
  readonly ledgers: ReadonlyMap<string, LedgerOverride>;
  readonly lanes: ReadonlyMap<Lane, LaneOverride>;
  readonly models: ReadonlyMap<string, ModelOverride>;
}

export const noOverrides: Overrides = { ledgers: new Map(), lanes: new Map(), models: new Map() };

/** What an operator sets, and on what; without an `override` it is taken back. */
export type OverrideAsk =
  | { readonly kind: "ledger"; readonly name: string; readonly override?: LedgerOverride }
  | { readonly kind: "lane"; readonly name: Lane; readonly override?: LaneOverride }
  | { readonly kind: "model"; readonly name: string; readonly override?: ModelOverride };

/** All overrides as they stand in the table, where somebody may have written them by hand. */
export interface OverrideRows {
  readonly ledgers: ReadonlyMap<string, Json>;
  readonly lanes: ReadonlyMap<Lane, Json>;
  readonly models: ReadonlyMap<string, Json>;
}

/** A row that somebody has written by hand: what can be understood of it, and a word for each field that cannot. */
export interface ReadOverride<T> {
  readonly override: T;
  readonly troubles: readonly string[];
}

/** What can be understood of all of them; `troubles` by what they are about: `ledger fast@west`. */
export function readOverrides(
  { ledgers, lanes, models }: OverrideRows,
  isKnown: (name: string) => boolean,
): { readonly overrides: Overrides; readonly troubles: ReadonlyMap<string, string> } {
  const troubles = new Map<string, string>();
  const understood = <K extends string, T>(
    kind: OverrideAsk["kind"],
    rows: ReadonlyMap<K, Json>,
    read: (row: Json) => ReadOverride<T>,
  ): ReadonlyMap<K, T> =>
    new Map(
      [...rows].map(([name, row]) => {
        const it = read(row);
        if (it.troubles.length > 0) troubles.set(`${kind} ${name}`, it.troubles.toSorted().join(", "));
        return [name, it.override];
      }),
    );
  const overrides = {
    ledgers: understood("ledger", ledgers, readLedgerOverride),
    lanes: understood("lane", lanes, readLaneOverride),
    models: understood("model", models, (row) => readModelOverride(row, isKnown)),
  };
  return { overrides, troubles };
}

export function readLedgerOverride(row: unknown): ReadOverride<LedgerOverride> {
  return readFields(row, { limit: readLimit, pausedUntilMs: readTime, out: readOut });
}

export function readLaneOverride(row: unknown): ReadOverride<LaneOverride> {
  return readFields(row, { pausedUntilMs: readTime, budgetUsd: readAmount });
}

/** `isKnown`: whether the config has a step or a model of that name. */
export function readModelOverride(row: unknown, isKnown: (name: string) => boolean): ReadOverride<ModelOverride> {
  return readFields(row, {
    chain: (value) => {
      if (!Array.isArray(value)) return { trouble: "is no list" };
      const names = value.filter((name): name is string => typeof name === "string" && isKnown(name));
      return names.length === value.length
        ? { value: names }
        : { value: names, trouble: "names what is not configured" };
    },
  });
}

/** What operators let a job do on a step. Out goes before paused: nobody waits for its end. */
export type Availability =
  | { readonly kind: "in" }
  | { readonly kind: "paused"; readonly untilMs: number }
  | { readonly kind: "out" };

/** `ledgers`: all that an attempt on the step takes a lease from. */
export function availability(
  ledgers: readonly string[],
  lane: Lane,
  overrides: Overrides,
  nowMs: number,
): Availability {
  const said = ledgers.flatMap((ledger) => overrides.ledgers.get(ledger) ?? []);
  if (said.some(({ out }) => out)) return { kind: "out" };
  // mutant: `0` → `1`: it has passed as well.
  const pauses = [...said, overrides.lanes.get(lane) ?? {}].map(({ pausedUntilMs = 0 }) => pausedUntilMs);
  const untilMs = Math.max(...pauses);
  return untilMs > nowMs ? { kind: "paused", untilMs } : { kind: "in" };
}

/**
 * The bounds within which a limit is learned under an override: `limitOf`, `cut` and `raise` then keep to it, and what
 * was learned above it is in force again when it goes. Pages are counted from the configured maximum, never from this
 * one: the leases that are out must stay in sight.
 */
export function boundsUnder({ limitStart, limitMax }: LimitBounds, override: LedgerOverride | undefined): LimitBounds {
  return { limitStart, limitMax: Math.min(limitMax, override?.limit ?? Infinity) };
}

/**
 * A job's steps in the operator's order. It adds none and drops none: which steps a job may take is its own and the
 * config's to say. `pinned`: the job named its first target, which stays first.
 */
export function inOrder<S extends Pick<Step, "name" | "model">>(
  steps: readonly S[],
  override: ModelOverride | undefined,
  pinned: boolean,
): readonly S[] {
  const chain = override?.chain ?? [];
  const kept = pinned ? steps.slice(0, 1) : [];
  const placeOf = ({ name, model }: S) =>
    Math.min(chain.length, ...[chain.indexOf(name), chain.indexOf(model)].filter((place) => place >= 0));
  return [...kept, ...steps.slice(kept.length).toSorted((a, b) => placeOf(a) - placeOf(b))];
}

interface ReadField<V> {
  readonly value?: V;
  readonly trouble?: string;
}

type Fields<T> = { readonly [K in keyof T & string]-?: (value: Json) => ReadField<Exclude<T[K], undefined>> };

/** Each field by itself, so that a slip in one does not undo the others. */
function readFields<T>(row: unknown, fields: Fields<T>): ReadOverride<T>;
function readFields(row: unknown, fields: Readonly<Record<string, (value: Json) => ReadField<unknown>>>) {
  if (!isObject(row)) return { override: {}, troubles: ["the row is no object"] };
  const read = Object.entries(row).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return [{ name, ...(field?.(value) ?? { trouble: "is not known" }) }];
  });
  return {
    override: Object.fromEntries(read.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    troubles: read.flatMap(({ name, trouble }) => (trouble === undefined ? [] : [`${name.slice(0, 64)} ${trouble}`])),
  };
}

/** The nearest limit there is: whoever writes 0 wants little, not what the config says. */
function readLimit(value: Json): ReadField<number> {
  const limit = numberIn(value);
  if (limit === undefined) return { trouble: "is no number" };
  if (limit < 1) return { value: 1, trouble: "is below 1" };
  return Number.isInteger(limit) ? { value: limit } : { value: Math.floor(limit), trouble: "is no whole number" };
}

/** 0 ends a pause. Seconds in the place of ms would have ended in 1970, microseconds never end, and nobody would see why. */
function readTime(value: Json): ReadField<number> {
  const atMs = numberIn(value);
  if (atMs === undefined || atMs < 0) return { trouble: "is no time" };
  return atMs > 0 && (atMs < 1e11 || atMs > 1e14) ? { trouble: "is no time in ms" } : { value: atMs };
}

/** 0 stops the lane for the day. */
function readAmount(value: Json): ReadField<number> {
  const amount = numberIn(value);
  return amount === undefined || amount < 0 ? { trouble: "is no amount" } : { value: amount };
}

function readOut(value: Json): ReadField<true> {
  if (typeof value !== "boolean") return { trouble: "is neither true nor false" };
  return value ? { value: true } : {};
}

/** A console writes digits as text as easily as a number. */
function numberIn(value: Json): number | undefined {
  const number = typeof value === "string" && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}
