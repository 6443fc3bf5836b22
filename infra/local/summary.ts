/** What a run came to, for a person and for a program. */
import { targetsOf } from "../../lib/core/config.ts";
import type { Config } from "../../lib/core/config.ts";
import { targetOf as placeOf } from "../../lib/memory/bedrock-play.ts";
import type { BedrockRecord } from "../../lib/memory/bedrock-play.ts";
import type { EnvironmentStats } from "./environments.ts";
import type { Outcome } from "./run.ts";
import { codeLines, latencyLines, namedLines } from "../../lib/terminal/outcome.ts";
import { fold } from "../../lib/terminal/width.ts";
import { counted, seconds } from "../../lib/core/words.ts";
import { columnsMax, commas, laid, listed } from "../../lib/terminal/words.ts";

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

/** One line of JSON. `refused` counts the `parked`, `unanswered` the `notSent`; `bedrockRequests` is null where nobody counted. */
export function jsonLine(result: Result): string {
  const { outcome, linesRefused, bedrock, workers } = result;
  const { jobs, succeeded, failed, expired, cancelled, unanswered, notSent, parked } = outcome;
  const { messages, messagesHidden, wallMs } = outcome;
  const targets = targetsAsked(result);
  return JSON.stringify({
    jobs,
    succeeded,
    failed,
    expired,
    cancelled,
    refused: linesRefused + parked,
    parked,
    unanswered,
    notSent,
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

/** Lines, plain, of at most so many columns unless a single word is longer. */
export function summaryLines(result: Result, columns = columnsMax): readonly string[] {
  const { outcome, linesRefused, bedrock, workers } = result;
  const { cutShort } = outcome;
  const lay = (label: string, words: string | readonly string[]) => laid(label, words, columns);
  const most = targetsAsked(result).map(({ name, max, limit }) => `${name} ${max} of ${limit}`);
  return [
    ...fold(headline(outcome), columns),
    ...codeLines(outcome.codes, columns),
    ...latencyLines(outcome.totalMsP50, outcome.totalMsP99, columns),
    ...(bedrock === undefined
      ? []
      : lay("Bedrock", [
          `${counted(requestsOf(bedrock), "request")};`,
          "most in flight:",
          ...(most.length > 0 ? commas(most) : ["none"]),
        ])),
    ...lay("leases", leases(outcome)),
    ...(linesRefused > 0 ? lay("refused", [`${counted(linesRefused, "line")} of the file`]) : []),
    ...(outcome.parked > 0
      ? lay("parked", [`${counted(outcome.parked, "message")}:`, ...commas(outcome.parkReasons)])
      : []),
    ...(outcome.messagesHidden > 0 && cutShort === undefined
      ? lay("hidden", [
          counted(outcome.messagesHidden, "copy", "copies"),
          ..."of answered jobs, each to be acknowledged when it comes again".split(" "),
        ])
      : []),
    ...lay("workers", [
      ...commas([
        counted(workers.started, "process", "processes"),
        counted(workers.invocations, "invocation"),
        ...(workers.died > 0 ? [`${workers.died} died`] : []),
        // Nobody knows the memory of a process that has ended no invocation.
        ...(workers.rssBytesMax > 0 ? [`at most ${megabytes(workers.rssBytesMax)} MB each`] : []),
      ]),
    ]),
  ];
}

/** The jobs that did not succeed, by name, up to a number. */
export function unsuccessfulLines({ outcome }: Result): readonly string[] {
  const { unsuccessful, jobs, succeeded } = outcome;
  if (unsuccessful.length === 0) return [];
  const more = jobs - succeeded - unsuccessful.length;
  return ["Did not succeed", ...namedLines(unsuccessful), ...(more > 0 ? [`  and ${more} more`] : [])];
}

function headline({ jobs, messages, wallMs, cutShort, ...outcome }: Outcome): string {
  const { succeeded, failed, expired, cancelled, unanswered, notSent } = outcome;
  const open = unanswered - notSent;
  const said = `${counted(jobs, "job")} in ${counted(messages, "message")}, ${seconds(wallMs)}`;
  const ends = listed({ succeeded, failed, expired, cancelled, "not sent": notSent });
  if (cutShort !== undefined) return `${said}; ${cutShort}: ${open} unanswered, ${ends}`;
  return `${said}: ${open > 0 ? `${ends}, ${open} unanswered` : ends}`;
}

/** Leases of work that was cut off are no fault. */
function leases({ leasesLeft, cutShort }: Outcome): string {
  if (leasesLeft === 0) return "all returned";
  return cutShort === undefined ? `${leasesLeft} NOT returned` : `${leasesLeft} out, of requests that were cut off`;
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

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
