import { headFields, laneCap } from "./lease.ts";
import type { Lane } from "./lane.ts";
import type { Head, LeaseAsk } from "./lease.ts";
import { dailyPauseMs, pauseMsMax } from "./limits.ts";

/** The configured bounds between which a limit is learned. */
export type LimitBounds = Pick<LeaseAsk, "limitStart" | "limitMax">;

/** One cut a cooldown, whoever writes it: a burst of throttles is one piece of news. */
const cutCooldownMs = 2_000;
/** The pause after a throttle that named none. */
const cutPauseMs = 2_000;
const raiseAfterCutMs = 5_000;
const raiseEveryMs = 2_000;
/** The limit that was throttled is tried again only this long after its cut. */
const retryCutFromMs = 45_000;

/** The limit in force: the learned one, never above the configured maximum. */
export function limitOf(head: Head | undefined, { limitStart, limitMax }: LimitBounds): number {
  return Math.max(1, Math.min(head?.lim ?? limitStart, limitMax));
}

/**
 * How long a job stands in line for a lease. As many jobs are in hand as the configured maximum can use, so under a limit
 * that was cut most of them would stand there in vain: only who is waited for himself stands there to the end.
 */
export function patienceMs(waitMsMax: number, lane: Lane, head: Head | undefined, bounds: LimitBounds): number {
  return lane === "rt" ? waitMsMax : Math.round((waitMsMax * limitOf(head, bounds)) / bounds.limitMax);
}

/** The head after a throttle: a tenth less, and a pause. Undefined: another has cut already. */
export function cut(
  head: Head | undefined,
  bounds: LimitBounds,
  nowMs: number,
  retryAfterMs = cutPauseMs,
): Head | undefined {
  if (head?.cutAtMs !== undefined && head.cutAtMs >= nowMs - cutCooldownMs) return undefined;
  const seen = limitOf(head, bounds);
  return {
    ...pause(head, nowMs + Math.min(retryAfterMs, pauseMsMax)),
    lim: Math.max(1, Math.floor((seen * 9) / 10)),
    cutFrom: seen,
    cutAtMs: nowMs,
  };
}

/**
 * The head after the day's quota was spent: nothing is learned about concurrency, so nothing is cut. Undefined: it is
 * paused as long already, give or take a cooldown.
 */
export function pauseDay(head: Head | undefined, nowMs: number): Head | undefined {
  const untilMs = nowMs + dailyPauseMs;
  // mutant: `0` → `1`: neither is as late as that.
  if ((head?.pausedUntilMs ?? 0) >= untilMs - cutCooldownMs) return undefined;
  return pause(head, untilMs);
}

/**
 * The head raised by time, while `out` leases are out; `share`: of the lane that looks, which alone can fill no more.
 * Undefined: not now.
 */
export function raise(
  head: Head | undefined,
  bounds: LimitBounds,
  out: number,
  nowMs: number,
  share = 1,
): Head | undefined {
  const { cutAtMs = -Infinity, raisedAtMs = -Infinity, cutFrom = Infinity, ...rest } = head ?? {};
  const seen = limitOf(head, bounds);
  if (seen >= bounds.limitMax) return undefined;
  if (nowMs - cutAtMs < raiseAfterCutMs || nowMs - raisedAtMs < raiseEveryMs) return undefined;
  // A limit of which not half is used says nothing about whether a higher one would hold.
  if (out * 2 < laneCap(seen, share)) return undefined;

  const lim = Math.min(bounds.limitMax, seen + Math.max(1, Math.floor(seen / 20)));
  const raised: Head = { ...rest, ...(head?.cutAtMs === undefined ? {} : { cutAtMs }), lim, raisedAtMs: nowMs };
  if (lim < cutFrom) return head?.cutFrom === undefined ? raised : { ...raised, cutFrom };
  return nowMs - cutAtMs < retryCutFromMs ? undefined : raised;
}

/** Whether two heads say the same: a write that is refused by its own success finds its own head. */
export function sameHead(a: Head | undefined, b: Head | undefined): boolean {
  return headFields.every((key) => a?.[key] === b?.[key]);
}

/** Only ever later: a shorter pause never ends a longer one. */
function pause(head: Head | undefined, untilMs: number): Head {
  // mutant: `0` → `1`: a pause ends later than either.
  return { ...head, pausedUntilMs: Math.max(head?.pausedUntilMs ?? 0, untilMs) };
}
