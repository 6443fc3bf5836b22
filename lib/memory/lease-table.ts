import { sameHead } from "../core/limit.ts";
import type { Head, Page, PageRef } from "../core/lease.ts";
import type { LeaseTable, Taken } from "../ports.ts";

/** The lease table in memory: each verb is one step that nothing interrupts, as DynamoDB's are. */
export function createMemoryLeaseTable(): LeaseTable {
  const pages = new Map<string, Map<string, number>>();
  const heads = new Map<string, Head>();

  /** Applies the write if the page exists and lets it; answers the row either way. */
  const write = (
    ref: PageRef,
    allows: (page: Page) => boolean,
    apply: (leases: Map<string, number>) => void,
  ): Taken => {
    const leases = pages.get(keyOf(ref));
    if (leases === undefined) return { kind: "refused", page: undefined };
    if (!allows(Object.fromEntries(leases))) return { kind: "refused", page: Object.fromEntries(leases) };
    apply(leases);
    return { kind: "taken", page: Object.fromEntries(leases) };
  };

  return {
    take: async (ref, ids, cap, untilMs) =>
      write(
        ref,
        (page) => sizeOf(page) <= cap - ids.length || ids.every((id) => page[id] !== undefined),
        (leases) => setIfAbsent(leases, ids, untilMs),
      ),

    createPage: async (ref) => {
      if (!pages.has(keyOf(ref))) pages.set(keyOf(ref), new Map());
    },

    reclaim: async (ref, expired, ids, cap, untilMs) =>
      write(
        ref,
        (page) =>
          Object.entries(expired).every(([id, seenMs]) => page[id] === seenMs) &&
          sizeOf(page) <= cap - ids.length + sizeOf(expired),
        (leases) => {
          for (const id of Object.keys(expired)) leases.delete(id);
          setIfAbsent(leases, ids, untilMs);
        },
      ),

    renew: async (ref, ids, untilMs) =>
      write(
        ref,
        (page) => ids.every((id) => (page[id] ?? Infinity) <= untilMs),
        (leases) => {
          for (const id of ids) leases.set(id, untilMs);
        },
      ),

    giveBack: async (ref, ids) => {
      for (const id of ids) pages.get(keyOf(ref))?.delete(id);
    },

    readHeads: async (ledgers) =>
      new Map(
        ledgers.flatMap((ledger) => {
          const head = heads.get(ledger);
          return head === undefined ? [] : [[ledger, head] as const];
        }),
      ),

    writeHead: async (ledger, seen, next) => {
      const head = heads.get(ledger);
      if (!sameHead(head, seen)) return { kind: "refused", head };
      heads.set(ledger, next);
      return { kind: "written" };
    },

    readPage: async (ref) => {
      const leases = pages.get(keyOf(ref));
      return leases === undefined ? undefined : Object.fromEntries(leases);
    },
  };
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
