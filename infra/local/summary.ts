/** What a run came to, for a person and for a program. */
import { targetsOf } from "../../lib/core/config.ts";
import type { Config } from "../../lib/core/config.ts";
import { targetOf as placeOf } from "../../lib/memory/bedrock-play.ts";
import type { BedrockRecord } from "../../lib/memory/bedrock-play.ts";
import type { EnvironmentStats } from "./environments.ts";
import type { Outcome } from "./run.ts";

export interface Result {
  readonly outcome: Outcome;
  /** Lines of the file that are no job. */
  readonly linesRefused: number;
  readonly config: Config;
  /** Undefined where the real Bedrock, or somebody's own, was asked. */
  readonly bedrock: BedrockRecord | undefined;
  readonly workers: EnvironmentStats;
}

/** Every job is answered and every lease returned. */
export function isClean({ outcome }: Result): boolean {
  return outcome.unanswered === 0 && outcome.leasesLeft === 0;
}

/** One line of JSON. `bedrockRequests` is null where nobody counted. */
export function jsonLine(result: Result): string {
  const { outcome, linesRefused, bedrock, workers } = result;
  const { jobs, succeeded, failed, expired, cancelled, unanswered, messages, messagesHidden, wallMs } = outcome;
  const targets = targetsAsked(result);
  return JSON.stringify({
    jobs,
    succeeded,
    failed,
    expired,
    cancelled,
    refused: linesRefused + outcome.parked,
    unanswered,
    bedrockRequests: bedrock === undefined ? null : requestsOf(bedrock),
    maxInFlight: Object.fromEntries(targets.map(({ name, max }) => [name, max])),
    leasesLeft: outcome.leasesLeft,
    wallMs,
    messages,
    messagesHidden,
    codes: outcome.codes,
    totalMs: { p50: outcome.totalMsP50 ?? null, p99: outcome.totalMsP99 ?? null },
    workers: { started: workers.started, died: workers.died, rssMbMax: megabytes(workers.rssBytesMax) },
  });
}

/** Lines, plain. */
export function summaryLines(result: Result): readonly string[] {
  const { outcome, linesRefused, bedrock, workers } = result;
  const { jobs, succeeded, failed, expired, cancelled, unanswered, messages } = outcome;
  const codes = Object.entries(outcome.codes).map(([code, count]) => `${code} ${count}`);
  const most = targetsAsked(result).map(({ name, max, limit }) => `${name} ${max} of ${limit}`);
  return [
    `${counted(jobs, "job")} in ${counted(messages, "message")}, ${seconds(outcome.wallMs)}: ` +
      listed({ succeeded, failed, expired, cancelled, unanswered }),
    ...(codes.length > 0 ? [`  codes      ${codes.join(", ")}`] : []),
    ...(outcome.totalMsP50 === undefined
      ? []
      : [`  latency    p50 ${seconds(outcome.totalMsP50)}, p99 ${seconds(outcome.totalMsP99 ?? 0)}, queue to reply`]),
    ...(bedrock === undefined
      ? []
      : [`  Bedrock    ${counted(requestsOf(bedrock), "request")}; most in flight: ${most.join(", ") || "none"}`]),
    `  leases     ${outcome.leasesLeft === 0 ? "all returned" : `${outcome.leasesLeft} NOT returned`}`,
    ...(linesRefused > 0 ? [`  refused    ${counted(linesRefused, "line")} of the file, named above`] : []),
    ...(outcome.parked > 0
      ? [`  parked     ${counted(outcome.parked, "message")}: ${outcome.parkReasons.join(", ")}`]
      : []),
    ...(outcome.messagesHidden > 0
      ? [
          `  hidden     ${counted(outcome.messagesHidden, "copy", "copies")} of answered jobs, each to be acknowledged when it comes again`,
        ]
      : []),
    `  workers    ${counted(workers.started, "process", "processes")}, ${counted(workers.invocations, "invocation")}, at most ${megabytes(workers.rssBytesMax)} MB each` +
      (workers.died > 0 ? `; ${workers.died} died` : ""),
  ];
}

/** Targets that were asked at all: the most requests in flight at once, and what the config allows. */
function targetsAsked({ bedrock, config }: Result) {
  return targetsOf(config).flatMap(({ step, target }) => {
    const seen = bedrock?.targets[placeOf(target)];
    return seen === undefined ? [] : [{ name: step, max: seen.max, limit: target.limit.max }];
  });
}

function requestsOf(bedrock: BedrockRecord): number {
  return Object.values(bedrock.targets).reduce((sum, { calls }) => sum + calls, 0);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** What there is none of is left out, but for `succeeded`. */
function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([name, count]) => count > 0 || name === "succeeded")
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}
