import { lastTryMs } from "../core/limits.ts";
import { atMost } from "./at-most.ts";
import type { Invocation } from "./invocation.ts";
import { Infrastructure } from "./trouble.ts";

/**
 * Waits for a request until a second after the bell, after the bell for a second. The handler waits on, to its last
 * call, for what is still under way then: nothing may outlive it.
 */
export async function inTime<T>(invocation: Invocation, request: Promise<T>): Promise<T | "late"> {
  const { clock } = invocation.worker.world;
  const leftMs = Math.max(0, invocation.bellAtMs - clock.nowMs()) + lastTryMs;
  const answer = await atMost(clock, leftMs, request);
  if (answer === "late") invocation.stragglers.push(request);
  return answer;
}

/** How a request is waited for, where whoever sends it has a bound of his own. */
export type Bound = <T>(act: () => Promise<T>) => Promise<T>;

/** {@link inTime}, where there is no going on without an answer. */
export async function lastTry<T>(invocation: Invocation, act: () => Promise<T>): Promise<T> {
  const answer = await inTime(invocation, act());
  if (answer === "late") throw new Infrastructure("TooLateAfterTheBell");
  return answer;
}
