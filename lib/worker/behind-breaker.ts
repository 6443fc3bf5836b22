import type { Attempted } from "../core/attempt.ts";
import { afterAttempt, allows, isProbe, takeProbe } from "../core/breaker.ts";
import type { Allows, Breaker } from "../core/breaker.ts";
import { laneLimits, leaseGraceMs } from "../core/limits.ts";
import type { Step } from "../core/plan.ts";
import { inTime } from "./in-time.ts";
import type { Tried } from "./run-attempt.ts";
import type { Run } from "./run.ts";

/** `asProbe`: it was made to find out for all whether the target works again. */
export type TriedBehind =
  | (Tried & { readonly asProbe: boolean })
  /** Nothing was tried: the breaker has not let it through. */
  | { readonly kind: "shut"; readonly untilMs: number };

/**
 * An attempt behind its target's breaker. The probe is taken before the lease, and the breaker hears of the attempt by
 * every way out of it; whoever dies here leaves a probe that lapses.
 */
export async function behindBreaker(
  run: Run,
  step: Step,
  attemptMsMax: number,
  act: () => Promise<Tried>,
): Promise<TriedBehind> {
  const id = run.clock.newId();
  const { may, taken } = await ask(run, step, id, attemptMsMax);
  if (may.kind === "no") return { kind: "shut", untilMs: may.untilMs };

  let attempted: Attempted | undefined;
  try {
    const tried = await act();
    if (tried.kind !== "no-lease") attempted = tried;
    return { ...tried, asProbe: may.kind === "probe" };
  } finally {
    await inTime(run.invocation, tell(run, step, id, attempted, taken));
  }
}

interface Door {
  readonly may: Allows;
  /** The breaker with our probe, which was written, or may have been. */
  readonly taken?: Breaker;
}

/** Whether the attempt may go; `probe`: it has taken it. A breaker that cannot be written keeps nobody away. */
async function ask(run: Run, { name }: Step, id: string, attemptMsMax: number): Promise<Door> {
  const { board, clock } = run;
  const seen = allows(board.breaker(name), clock.nowMs());
  if (seen.kind !== "probe") return { may: seen };

  const expiresAtMs = clock.nowMs() + probeMs(run, attemptMsMax);
  let probing: { readonly taken?: Breaker } = {};
  const take = (stands: Breaker | undefined) => {
    const taken = takeProbe(stands, id, clock.nowMs(), expiresAtMs);
    if (taken !== undefined) probing = { taken };
    return taken;
  };
  await inTime(run.invocation, board.changeBreaker(name, take));
  if (isProbe(board.breaker(name), id)) {
    run.note({ kind: "breaker-probe" }, name);
    return { may: { kind: "probe" }, ...probing };
  }
  const stands = allows(board.breaker(name), clock.nowMs());
  return stands.kind === "no" ? { may: stands } : { may: { kind: "yes" }, ...probing };
}

/** As long as the attempt may last, its wait for a lease included: it is cut by its bound, the deadline or the bell. */
function probeMs({ clock, invocation, job }: Run, attemptMsMax: number): number {
  const nowMs = clock.nowMs();
  const longestMs = laneLimits[job.lane].leaseWaitMsMax + attemptMsMax;
  return Math.min(longestMs, job.deadlineAtMs - nowMs, invocation.bellAtMs - nowMs) + leaseGraceMs;
}

/** A read may be older than the probe, or its taking was never answered: it is supposed taken until a row says no. */
async function tell(
  run: Run,
  { name }: Step,
  id: string,
  attempted: Attempted | undefined,
  taken: Breaker | undefined,
): Promise<void> {
  const { board, clock } = run;
  const changed = await board.changeBreaker(name, (seen) => afterAttempt(seen, id, attempted, clock.nowMs()), taken);
  if (changed?.next.kind === "open") run.note({ kind: "breaker-opened", untilMs: changed.next.openUntilMs }, name);
  if (changed?.next.kind === "closed" && changed.seen?.kind === "half-open") run.note({ kind: "breaker-closed" }, name);
}
