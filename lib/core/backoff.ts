import type { Failure } from "./failure.ts";
import { dailyPauseMs, pauseMsMax } from "./limits.ts";

const ordinaryMs = [1_000, 2_000, 4_000] as const;
const capacityMs = [15_000, 30_000, 60_000] as const;

/**
 * How long to wait after an attempt that failed, in ms. `attempt` counts from 1, `jitter` is in [0, 1). The server's
 * own answer wins over the schedule, be it shorter or longer.
 */
export function backoffMs(failure: Failure, attempt: number, jitter: number): number {
  if (failure.retryAfterMs !== undefined) return Math.min(Math.max(failure.retryAfterMs, 0), pauseMsMax);
  switch (failure.kind) {
    case "throttled":
    case "not-ready":
      return halfJitter(scheduled(capacityMs, attempt), jitter);
    case "daily":
      return dailyPauseMs;
    case "transient":
    case "hung":
    case "target":
    case "context":
    case "fatal":
      return Math.round(scheduled(ordinaryMs, attempt) * jitter);
  }
}

/** The last entry stands for all that follow. */
function scheduled(schedule: readonly [number, number, number], attempt: number): number {
  const [first, second, third] = schedule;
  return attempt <= 1 ? first : attempt === 2 ? second : third;
}

/** Capacity does not come back at once: half of the pause is certain. */
function halfJitter(pauseMs: number, jitter: number): number {
  return Math.round(pauseMs / 2 + (pauseMs / 2) * jitter);
}
