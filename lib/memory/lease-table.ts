import { sameBreaker } from "../core/breaker.ts";
import type { Breaker } from "../core/breaker.ts";
import { budgetName, markOf } from "../core/budget.ts";
import { sameHead } from "../core/limit.ts";
import type { Head, Page, PageRef } from "../core/lease.ts";
import type { Json } from "../core/json.ts";
import type { Lane } from "../core/lane.ts";
import { charge, payTogether, settle } from "../core/rate.ts";
import type { Clocks, Toll } from "../core/rate.ts";
import type { LeaseTable, Taken } from "../ports.ts";

/** The lease table in memory: each verb is one step that nothing interrupts, as DynamoDB's are. */
export function createMemoryLeaseTable(): LeaseTable {
  const pages = new Map<string, Map<string, number>>();
  const heads = new Map<string, Head>();
  const breakers = new Map<string, Breaker>();
  const overrides = {
    ledger: new Map<string, Json>(),
    lane: new Map<Lane, Json>(),
    model: new Map<string, Json>(),
  };
  const spent = new Map<string, number>();
  /** On the days' rows, by slot. */
  const marks = new Map<string, string>();
  /** They lie on the heads too, and neither's writes touch the other. */
  const clocks = new Map<string, Clocks>();
  const pageClocks = new Map<string, Clocks>();

  /** Applies the write if the page exists and lets it; answers the row either way. */
  const write = (
    ref: PageRef,
    allows: (page: Page) => boolean,
    apply: (leases: Map<string, number>) => void,
    toll?: Toll,
  ): Taken => {
    const key = keyOf(ref);
    const [leases, seen] = [pages.get(key), pageClocks.get(key)];
    if (leases === undefined) return { kind: "refused", page: undefined };
    const paid = toll && payTogether(seen, toll);
    const allowed = allows(Object.fromEntries(leases)) && paid?.count === toll?.tokens.length;
    if (allowed) apply(leases);
    if (allowed && paid !== undefined) pageClocks.set(key, paid.clocks);
    const after = pageClocks.get(key);
    return {
      kind: allowed ? "taken" : "refused",
      page: Object.fromEntries(leases),
      ...(after && { clocks: after }),
    };
  };

  return {
    take: async (ref, ids, cap, untilMs, toll) =>
      write(
        ref,
        (page) =>
          toll === undefined
            ? sizeOf(page) <= cap - ids.length || ids.every((id) => page[id] !== undefined)
            : sizeOf(page) <= cap - ids.length && ids.every((id) => page[id] === undefined),
        (leases) => setIfAbsent(leases, ids, untilMs),
        toll,
      ),

    createPage: async (ref) => {
      if (!pages.has(keyOf(ref))) pages.set(keyOf(ref), new Map());
    },

    reclaim: async (ref, expired, ids, cap, untilMs, toll) =>
      write(
        ref,
        (page) =>
          Object.entries(expired).every(([id, seenMs]) => page[id] === seenMs) &&
          sizeOf(page) <= cap - ids.length + sizeOf(expired) &&
          (toll === undefined || ids.every((id) => page[id] === undefined)),
        (leases) => {
          for (const id of Object.keys(expired)) leases.delete(id);
          setIfAbsent(leases, ids, untilMs);
        },
        toll,
      ),

    renew: async (ref, ids, untilMs) =>
      write(
        ref,
        (page) => ids.every((id) => (page[id] ?? Infinity) <= untilMs),
        (leases) => {
          for (const id of ids) leases.set(id, untilMs);
        },
      ),

    giveBack: async (ref, ids, backMs = {}) => {
      const key = keyOf(ref);
      for (const id of ids) {
        const [wasThere, seen] = [pages.get(key)?.delete(id), pageClocks.get(key)];
        if (wasThere && seen?.tokensAtMs !== undefined)
          pageClocks.set(key, { ...seen, tokensAtMs: seen.tokensAtMs - (backMs[id] ?? 0) });
      }
      return pageClocks.get(key);
    },

    readBoard: async ({ ledgers, targets, lanes, models, budgets = [] }) => ({
      heads: some(heads, ledgers),
      breakers: some(breakers, targets),
      overrides: {
        ledgers: some(overrides.ledger, ledgers),
        lanes: some(overrides.lane, lanes),
        models: some(overrides.model, models),
      },
      spent: some(spent, budgets.map(budgetName)),
    }),

    writeHead: async (ledger, seen, next) => {
      const head = heads.get(ledger);
      if (!sameHead(head, seen)) return { kind: "refused", stands: head };
      heads.set(ledger, next);
      return { kind: "written" };
    },

    writeBreaker: async (target, seen, next) => {
      const breaker = breakers.get(target);
      if (!sameBreaker(breaker, seen)) return { kind: "refused", stands: breaker };
      if (sameBreaker(next, undefined)) breakers.delete(target);
      else breakers.set(target, next);
      return { kind: "written" };
    },

    addSpent: async (of, addition) => {
      const { slot, begins, mark } = markOf(addition);
      const name = budgetName(of);
      const last = marks.get(`${name} ${slot}`);
      const sum = spent.get(name) ?? 0;
      if (last?.startsWith(begins) && last >= mark) return sum;
      marks.set(`${name} ${slot}`, mark);
      spent.set(name, sum + addition.nanoUsd);
      return sum + addition.nanoUsd;
    },

    setOverride: async ({ kind, name, override }) => {
      const rows: Map<string, Json> = overrides[kind];
      if (override === undefined) rows.delete(name);
      else rows.set(name, { ...override });
      // It lies on the head, which is there from then on.
      if (kind === "ledger" && !heads.has(name)) heads.set(name, {});
    },

    charge: async (ledger, ask, quota, nowMs) => {
      const answer = charge(clocks.get(ledger), ask, quota, nowMs);
      if (answer.kind !== "charged") return answer;
      clocks.set(ledger, answer.clocks);
      if (!heads.has(ledger)) heads.set(ledger, {});
      return answer;
    },

    settle: async (ledger, unused, quota, nowMs) => {
      const settled = settle(clocks.get(ledger), unused, quota, nowMs);
      if (settled !== undefined) clocks.set(ledger, settled);
      return clocks.get(ledger) ?? {};
    },

    readClocks: async (ledger) => ({ ...clocks.get(ledger), ...pageClocks.get(keyOf({ ledger, page: 0 })) }),

    readPage: async (ref) => {
      const leases = pages.get(keyOf(ref));
      return leases === undefined ? undefined : Object.fromEntries(leases);
    },
  };
}

/** The rows of those names that exist. */
function some<K, V>(rows: ReadonlyMap<K, V>, names: readonly K[]): Map<K, V> {
  return new Map(
    names.flatMap((name) => {
      const row = rows.get(name);
      return row === undefined ? [] : [[name, row] as const];
    }),
  );
}

function keyOf({ ledger, page }: PageRef): string {
  return `${ledger}#${page}`;
}

function sizeOf(page: Page): number {
  return Object.keys(page).length;
}

function setIfAbsent(leases: Map<string, number>, ids: readonly string[], untilMs: number): void {
  for (const id of ids) if (!leases.has(id)) leases.set(id, untilMs);
}
