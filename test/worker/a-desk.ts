/** Desks of several containers over one table in memory that is 2 ms away, each way, under one virtual clock. */
import type { Noted } from "../../lib/core/noted.ts";
import type { Wanted } from "../../lib/core/ledgers.ts";
import type { PageRef } from "../../lib/core/lease.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { Board } from "../../lib/worker/board.ts";
import { LeaseDesk } from "../../lib/worker/lease-desk.ts";
import type { TakenLease } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { wired } from "./lease-wire.ts";
import type { Request } from "./lease-wire.ts";

export const wireMs = 2;

/** What befalls a request: it never arrives, or it is carried out and the answer is lost. */
export type Fault = "request lost" | "answer lost";

export function someDesks(ledgers: readonly string[], facts: { readonly seed?: number } = {}) {
  const clock = createVirtualClock(t0, facts.seed ?? 1);
  const table = createMemoryLeaseTable();
  for (const ledger of ledgers) void table.createPage({ ledger, page: 0 });

  /** Requests of all desks, but for the reads of boards. */
  const sent: Request[] = [];
  const noted: Noted[] = [];
  const faults: Partial<Record<Request["verb"], (Fault | undefined)[]>> = {};
  const wire = { requestMs: wireMs, answerMs: wireMs };
  const lost = () => Object.assign(new Error("lost"), { name: "TimeoutError" });
  const leases = wired(table, async (request, send) => {
    if (request.verb === "readBoard") return await send();
    sent.push(request);
    const fault = faults[request.verb]?.shift();
    await clock.sleep(wire.requestMs);
    if (fault === "request lost") throw lost();
    const answer = await send();
    await clock.sleep(wire.answerMs);
    if (fault === "answer lost") throw lost();
    return answer;
  });
  const world = { clock, leases, telemetry: { note: (event: Noted) => noted.push(event) } };
  const newDesk = () => new LeaseDesk(world, new Board(world, { ledgers }));
  const desk = newDesk();

  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let done = false;
    void promise.finally(() => (done = true)).catch(() => undefined);
    await clock.runUntil(() => done);
    return await promise;
  };
  const take = (wanted: Wanted, waitMs = 1_000, signal = new AbortController().signal) =>
    desk.take(wanted, { waitMs, signal });
  const hold = async (wanted: Wanted): Promise<TakenLease> => {
    const taken = await over(take(wanted));
    if (taken.kind !== "taken") throw new Error(`no lease: ${taken.kind}`);
    return taken;
  };
  /** Leases of somebody else. */
  const others = async (ledger: string, count: number) => {
    for (let index = 0; index < count; index++)
      await table.take({ ledger, page: 0 }, [`other-${index}`], 32, t0 + 600_000);
  };
  const page = async (ledger: string, number = 0): Promise<string[]> => {
    const ref: PageRef = { ledger, page: number };
    return Object.keys((await table.readPage(ref)) ?? {});
  };
  /** How many leases are out, by ledger. */
  const out = async () => await Promise.all(ledgers.map(async (ledger) => (await page(ledger)).length));
  /** The requests as `verb ledger`. */
  const said = () => sent.map(({ verb, ref }) => (ref === undefined ? verb : `${verb} ${ref.ledger}`));
  return { clock, table, desk, newDesk, sent, said, noted, faults, wire, over, take, hold, others, page, out };
}
