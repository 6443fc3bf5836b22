/** What the machine of a clock is made of, how it ages, and by what its states are told apart. */
import type { Page } from "../../lib/core/lease.ts";
import { leaseGraceMs } from "../../lib/core/limits.ts";
import type { Paid, Row } from "./clock-protocol.ts";
import { inOrder, unnamed } from "./lease.ts";

export interface Attempt {
  readonly id: string;
  readonly holdsNarrower: boolean;
  /** All that it wants is there: a request may be under way. */
  readonly isComplete: boolean;
}

export interface Write {
  readonly kind: "take" | "reclaim" | "charge" | "return" | "settle";
  readonly client: number;
  readonly id: string;
  readonly expired: Page;
  readonly untilMs: number;
  readonly nowMs: number;
  /** As the client says; absent: all of them. */
  readonly unused: number | undefined;
  /** In truth. */
  readonly used: number;
}

/** A write on its way, or its answer on the way back. */
export interface Message {
  readonly write: Write;
  readonly answer: Paid | "awaited" | "unawaited";
}

export interface ClockWorld {
  readonly row: Row;
  readonly attempts: readonly (Attempt | undefined)[];
  readonly underWay: readonly Message[];
  /** By how much the clock stands ahead for an attempt, beyond what that has spent. */
  readonly aheadMs: Readonly<Record<string, number>>;
  /** Attempts that are settled on the head. */
  readonly settled: readonly string[];
  /** What the last step itself did wrong. */
  readonly wrong: string;
}

/** It is always now: a time is told by its distance from it. Well beyond 0, where a clock that was never written stands. */
export const now = 1_000_000;
const tickMs = 5_000;
/** In two ticks it is over, and in the same may be reclaimed. */
export const leaseMs = 6_500;

/** A write is no older than this, or counts as if it were: then no clock needs to be further behind. */
function earlier(ms: number): number {
  return Math.max(ms - tickMs, now - 2 * tickMs);
}

/** Expiries that anybody may reclaim differ in nothing that a step looks at: told apart, they would be states without end. */
function nearer(ms: number): number {
  return ms - tickMs < now - leaseGraceMs ? -Infinity : ms - tickMs;
}

function nearerOn(page: Page): Page {
  return Object.fromEntries(Object.entries(page).map(([id, ms]) => [id, nearer(ms)]));
}

function older({ page, clocks }: Row): Row {
  const { tokensAtMs } = clocks ?? {};
  return {
    page: nearerOn(page),
    clocks: tokensAtMs === undefined ? clocks : { ...clocks, tokensAtMs: earlier(tokensAtMs) },
  };
}

/** The world a tick later. */
export function aged({ row, underWay }: ClockWorld): Partial<ClockWorld> {
  return {
    row: older(row),
    underWay: underWay.map(({ write, answer }) => ({
      write: {
        ...write,
        expired: nearerOn(write.expired),
        untilMs: nearer(write.untilMs),
        nowMs: earlier(write.nowMs),
      },
      answer: typeof answer === "string" ? answer : { ...answer, row: older(answer.row) },
    })),
  };
}

export function atMs({ clocks }: Row): number {
  return clocks?.tokensAtMs ?? 0;
}

export function keyOf(world: ClockWorld): string {
  return unnamed(textOf(world));
}

export function textOf({ row, attempts, underWay, aheadMs, settled, wrong }: ClockWorld): string {
  // Where the clock stands is all the same to whoever takes it for past.
  const earliest = Math.min(now, ...underWay.map(({ write }) => write.nowMs));
  const at = row.clocks?.tokensAtMs === undefined ? "" : time(Math.max(row.clocks.tokensAtMs, earliest));
  const trying = attempts.map(
    (each) => each && `${each.id}${each.holdsNarrower ? "n" : ""}${each.isComplete ? "c" : ""}`,
  );
  const sums = Object.entries(aheadMs).map(([id, ms]) => `${ms / 1_000}${id}`);
  return `${rowText(row)}@${at}|${trying.join("/")}|${inOrder(underWay.map(messageText))}|${inOrder(sums)}|${inOrder([...settled])}|${wrong}`;
}

function messageText({ write, answer }: Message): string {
  const { kind, id, expired, untilMs, nowMs, unused, used } = write;
  const told =
    typeof answer === "string"
      ? answer.slice(0, 2)
      : `${answer.kind}${rowText(answer.row)}@${time(Math.max(atMs(answer.row), now))}`;
  const what =
    kind === "return" || kind === "settle"
      ? `${unused ?? ""}/${used}`
      : `${time(untilMs)}${time(nowMs)}${pageText(expired)}`;
  return `${kind.slice(0, 3)}${what}${id}${told}`;
}

function rowText({ page, clocks }: Row): string {
  return `${pageText(page)}+${inOrder(Object.keys(clocks?.charged ?? {}))}-${inOrder(Object.keys(clocks?.settled ?? {}))}`;
}

function pageText(page: Page): string {
  return inOrder(Object.keys(page).map((id) => time(page[id]) + id));
}

function time(ms = -Infinity): string {
  return ms === -Infinity ? "-" : `${(ms - now) / 1_000}`;
}
