/** Jobs that ask a desk until they are admitted, as the queue would bring them back. */
import type { Wanted } from "../../lib/core/ledgers.ts";
import type { Clock } from "../../lib/ports.ts";
import type { LeaseDesk } from "../../lib/worker/lease-desk.ts";

const triesMax = 20;

/** Asks until it is admitted, holds for up to a second, and gives back. */
export async function insist(
  desk: LeaseDesk,
  wants: Wanted,
  clock: Clock,
  onAdmitted: (atMs: number) => void,
): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const taken = await desk.take(wants, { waitMs: 1_000, signal: new AbortController().signal });
    if (taken.kind === "taken") {
      onAdmitted(clock.nowMs());
      await clock.sleep(1_000 * clock.jitter());
      return await desk.giveBack(taken, { kind: "neutral" });
    }
    const waitMs = taken.kind === "tokens" ? taken.untilMs - clock.nowMs() : 200;
    await clock.sleep(Math.max(500, waitMs * (1 + clock.jitter())));
  }
}

/** The most that any 60 s hold. */
export function fullestMinute(atMs: readonly number[]): number {
  return Math.max(...atMs.map((from) => atMs.filter((at) => at >= from && at < from + 60_000).length));
}
