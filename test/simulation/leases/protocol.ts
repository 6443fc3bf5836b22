import { isReclaimable, pageCount } from "../../../lib/core/lease.ts";
import type { Noted } from "../../../lib/core/noted.ts";
import type { Clock } from "../../../lib/ports.ts";
import { Board } from "../../../lib/worker/board.ts";
import { LeaseDesk } from "../../../lib/worker/lease-desk.ts";
import type { Client } from "./dynamo.ts";
import { createRows, leaseTableOver } from "./dynamo.ts";

/** Where a worker takes its leases. */
export type Desk = Pick<LeaseDesk, "take" | "giveBack" | "renew" | "idle">;

/** What a worker brings: its own clock, its client, its dice. */
export interface Site {
  readonly clock: Clock;
  readonly client: Client;
  readonly dice: () => number;
  readonly note: (event: Noted) => void;
}

/** A way to share a limit among workers: what they have in common, and a desk for each. */
export interface Protocol {
  open(site: Site, ledger: string): Desk;
  /** Leases that the table still holds against others. */
  left(ledger: string, limitMax: number, nowMs: number): Promise<number>;
}

/** The worker's own: a head and its pages. */
export function pages(): Protocol {
  const rows = createRows();
  return {
    open({ clock, client, note }, ledger) {
      const world = { clock, leases: leaseTableOver(client, rows), telemetry: { note } };
      return new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));
    },
    async left(ledger, limitMax, nowMs) {
      const numbers = Array.from({ length: pageCount(limitMax) }, (_, page) => page);
      const all = await Promise.all(numbers.map((page) => rows.readPage({ ledger, page })));
      return all.flatMap((page) => Object.values(page ?? {})).filter((atMs) => !isReclaimable(atMs, nowMs)).length;
    },
  };
}
