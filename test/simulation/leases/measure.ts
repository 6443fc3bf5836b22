import type { Lane } from "../../../lib/core/lane.ts";
import { laneCap } from "../../../lib/core/lease.ts";
import { laneLimits } from "../../../lib/core/limits.ts";
import { outMean } from "./history.ts";
import type { Crew, Findings, Scenario } from "./simulate.ts";

/** Requests to DynamoDB for each attempt, all but the heads' reads, which are one a second for each worker. */
export function requestsPerAttempt(findings: Findings): number {
  const sent = [...findings.bill.requests].filter(([verb]) => verb !== "readBoard");
  return sent.reduce((sum, [, count]) => sum + count, 0) / attemptsOf(findings);
}

export function unitsPerAttempt(findings: Findings): number {
  return findings.bill.units / attemptsOf(findings);
}

/** The part in use of what the busy lanes may hold, those whose queues are never empty. */
export function utilisation({ history, fromMs, untilMs }: Findings, { crews, limitMax }: Scenario): number {
  const share = Math.max(...crews.filter(isBusy).map(({ lane }) => laneLimits[lane].share));
  return outMean(history, fromMs, untilMs) / laneCap(limitMax, share);
}

function isBusy({ idleMsMean }: Crew): boolean {
  return idleMsMean === undefined;
}

/** So many of a hundred waits were no longer than this. Who got no lease has waited for ever. */
export function waitMsOf({ waits }: Findings, lane: Lane, percent: number): number {
  const sorted = waits
    .filter((wait) => wait.lane === lane)
    .map(({ waitMs, isTaken }) => (isTaken ? waitMs : Infinity))
    .sort((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0;
}

/** The part of a lane's jobs that had no lease in the end, and go back to their queue. */
export function refusedPart({ waits }: Findings, lane: Lane): number {
  const asked = waits.filter((wait) => wait.lane === lane);
  return asked.filter(({ isTaken }) => !isTaken).length / asked.length;
}

/** The part of the attempts begun within that time, in seconds of the run, that were throttled. */
export function throttledPart(
  { history, fromMs }: Findings,
  scenario: Scenario,
  fromS: number,
  untilS: number,
): number {
  const startMs = fromMs - scenario.fromS * 1_000;
  const begun = history.filter(
    ({ takenAtMs }) => takenAtMs >= startMs + fromS * 1_000 && takenAtMs < startMs + untilS * 1_000,
  );
  return begun.filter(({ answer }) => answer === "throttled").length / begun.length;
}

/** One that began or ended outside counts half, as of its two requests only one is on the bill. */
export function attemptsOf({ history, fromMs, untilMs }: Findings): number {
  const isWithin = (atMs: number) => atMs >= fromMs && atMs < untilMs;
  const moments = history.flatMap(({ takenAtMs, endedAtMs }) => [takenAtMs, endedAtMs]);
  return moments.filter(isWithin).length / 2;
}
