import type { Head, PageRef } from "../../lib/core/lease.ts";
import type { LeaseTable } from "../../lib/ports.ts";

/** A request to the lease table; of heads it names none. */
export interface Request {
  readonly verb: keyof LeaseTable;
  readonly ref?: PageRef;
  readonly ids: readonly string[];
}

/** The table at the end of a wire: `carry` sees each request, and sends it when, as often and if it likes. */
export function wired(
  table: LeaseTable,
  carry: <Answer>(request: Request, send: () => Promise<Answer>) => Promise<Answer>,
): LeaseTable {
  return {
    take: (ref, ids, ...rest) => carry({ verb: "take", ref, ids }, () => table.take(ref, ids, ...rest)),
    createPage: (ref) => carry({ verb: "createPage", ref, ids: [] }, () => table.createPage(ref)),
    reclaim: (ref, expired, ids, ...rest) =>
      carry({ verb: "reclaim", ref, ids }, () => table.reclaim(ref, expired, ids, ...rest)),
    renew: (ref, ids, untilMs) => carry({ verb: "renew", ref, ids }, () => table.renew(ref, ids, untilMs)),
    giveBack: (ref, ids, ...rest) => carry({ verb: "giveBack", ref, ids }, () => table.giveBack(ref, ids, ...rest)),
    readBoard: (names) => carry({ verb: "readBoard", ids: [] }, () => table.readBoard(names)),
    writeHead: (...write) => carry({ verb: "writeHead", ids: [] }, () => table.writeHead(...write)),
    writeBreaker: (...write) => carry({ verb: "writeBreaker", ids: [] }, () => table.writeBreaker(...write)),
    addSpent: (...ask) => carry({ verb: "addSpent", ids: [] }, () => table.addSpent(...ask)),
    setOverride: (ask) => table.setOverride(ask),
    charge: (ledger, charge, ...rest) =>
      carry({ verb: "charge", ids: [charge.id] }, () => table.charge(ledger, charge, ...rest)),
    settle: (ledger, unused, ...rest) =>
      carry({ verb: "settle", ids: [unused.id] }, () => table.settle(ledger, unused, ...rest)),
    readClocks: (ledger) => table.readClocks(ledger),
    readPage: (ref) => table.readPage(ref),
  };
}

/** A ledger's head as it stands in the table. */
export async function headOf(table: LeaseTable, ledger: string): Promise<Head | undefined> {
  return (await table.readBoard({ ledgers: [ledger], targets: [], lanes: [], models: [] })).heads.get(ledger);
}
