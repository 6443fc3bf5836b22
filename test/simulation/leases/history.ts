import type { LeaseAsk } from "../../../lib/core/lease.ts";
import { laneCap } from "../../../lib/core/lease.ts";

/** A lease as somebody with the true time sees it: from the grant until its holder is done with it. Epoch ms. */
export interface Interval {
  readonly ask: LeaseAsk;
  readonly takenAtMs: number;
  endedAtMs: number;
}

/**
 * Every lease that should not have been granted. When its holder learns of it a ledger has, itself included, no more out
 * than its configured maximum, and of its lane and of lanes with a smaller share no more than the lane's cap. (The lane's
 * threshold is on all that is out, but at the write, which may be a lost answer earlier.)
 */
export function breaches(history: readonly Interval[]): readonly string[] {
  const found: string[] = [];
  for (const intervals of Map.groupBy(history, ({ ask }) => ask.ledger).values()) {
    const out = new Set<Interval>();
    for (const { interval, isTaken } of momentsOf(intervals)) {
      if (!isTaken) {
        out.delete(interval);
        continue;
      }
      out.add(interval);
      const { ledger, lane, share, limitMax } = interval.ask;
      const cap = laneCap(limitMax, share);
      const ofLane = [...out].filter(({ ask }) => ask.share <= share).length;
      if (out.size > limitMax) found.push(`${ledger}: ${out.size} out of ${limitMax}`);
      else if (ofLane > cap) found.push(`${ledger}: ${ofLane} out of the ${cap} of ${lane}`);
    }
  }
  return found;
}

/** The most leases that were out at once. */
export function outMost(history: readonly Interval[]): number {
  let [out, most] = [0, 0];
  for (const { isTaken } of momentsOf(history)) {
    out += isTaken ? 1 : -1;
    most = Math.max(most, out);
  }
  return most;
}

/** How many were out on average within that time. */
export function outMean(history: readonly Interval[], fromMs: number, untilMs: number): number {
  const heldMs = history.reduce(
    (sum, { takenAtMs, endedAtMs }) => sum + Math.max(0, Math.min(endedAtMs, untilMs) - Math.max(takenAtMs, fromMs)),
    0,
  );
  return heldMs / (untilMs - fromMs);
}

/** In order of time; what ends and what begins at one moment do not meet. */
function momentsOf(history: readonly Interval[]) {
  const moments = history.flatMap((interval) => [
    { interval, isTaken: true, atMs: interval.takenAtMs },
    { interval, isTaken: false, atMs: interval.endedAtMs },
  ]);
  return moments.sort((a, b) => a.atMs - b.atMs || Number(a.isTaken) - Number(b.isTaken));
}
