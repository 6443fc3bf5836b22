/** What must be true of a run, whatever broke in it: a function of what was seen from outside, without a clock. */
import { isObject, parseJson } from "../../lib/core/json.ts";
import type { CallRecord } from "../../lib/memory/bedrock-play.ts";
import { targetOf } from "../../lib/memory/bedrock-play.ts";

/** How a job must end: with what the script has the model say to it, or with an error's code. */
export type Ending = { readonly says: string } | { readonly code: string };

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A worker that was killed or frozen, with the jobs it had. */
export interface Hit extends Span {
  readonly kind: "killed" | "frozen";
  readonly jobIds: readonly string[];
}

export interface History {
  readonly endings: ReadonlyMap<string, Ending>;
  /** Every text of a job's reply that a row was seen to hold, in that order, and when it was there first. */
  readonly replies: ReadonlyMap<string, { readonly texts: readonly string[]; readonly seenAtMs: number }>;
  /** Outputs that lie in S3, by their reference. */
  readonly objects: ReadonlyMap<string, string>;
  /** Bedrock's own record. */
  readonly calls: readonly CallRecord[];
  /** `modelId@region` → leases at most. */
  readonly limits: ReadonlyMap<string, number>;
  /** The jobs of answers that Bedrock gave and nobody received, one entry an answer. */
  readonly lost: readonly string[];
  readonly hits: readonly Hit[];
  /** When the lease table could not be reached. */
  readonly dark: readonly Span[];
  /** How invocations ended that did not return. */
  readonly thrown: readonly string[];
  /** Messages left in queues, by the queue. */
  readonly messages: ReadonlyMap<string, number>;
  /** `reason body` of what must be parked, once or more often, and of what is. */
  readonly parkable: readonly string[];
  readonly parked: readonly string[];
  readonly leasesOut: number;
}

/** Nothing, or a sentence for each thing that must not be. */
export function violations(history: History): readonly string[] {
  return [repliesWrong, askedAgain, askedTooOften, overLimit, leftBehind].flatMap((law) => law(history));
}

/** Each job has one reply, the right one, for ever. */
function repliesWrong({ endings, replies, objects }: History): readonly string[] {
  return [...endings].flatMap(([jobId, ending]) => {
    const [text, ...others] = replies.get(jobId)?.texts ?? [];
    if (text === undefined) return [`${jobId} has no reply`];
    const changed = others.length > 0 ? [`the reply of ${jobId} was changed`] : [];
    const reply = parseJson(text);
    if (!isObject(reply)) return [...changed, `the reply of ${jobId} is no object`];
    const { ok, output, outputRef, error } = reply;
    if ("code" in ending) {
      const code = isObject(error) ? error["code"] : undefined;
      return code === ending.code ? changed : [...changed, `${jobId} ended with ${codeOf(code)} for ${ending.code}`];
    }
    if (ok !== true) return [...changed, `${jobId} failed: ${codeOf(isObject(error) ? error["code"] : undefined)}`];
    const whole = typeof outputRef === "string" ? (objects.get(outputRef) ?? "") : JSON.stringify(output);
    return whole.includes(ending.says) ? changed : [...changed, `${jobId} got another answer than its own`];
  });
}

function codeOf(code: unknown): string {
  return typeof code === "string" ? code : "no code";
}

/** No request for a job that has its reply: only a frozen worker, which cannot know, may send one when it thaws. */
function askedAgain({ calls, replies, hits }: History): readonly string[] {
  return calls.flatMap(({ jobId = "", startedAtMs }) => {
    const isLate = startedAtMs > (replies.get(jobId)?.seenAtMs ?? Infinity);
    const hadFrozen = hits.some((hit) => hit.kind === "frozen" && hit.jobIds.includes(jobId));
    return isLate && !hadFrozen ? [`${jobId} was asked again when it had its reply`] : [];
  });
}

/** A job is answered once, and once more for each answer that was lost on its way or with its worker. */
function askedTooOften({ calls, lost, hits, dark }: History): readonly string[] {
  const answered = calls.filter(({ outcome }) => outcome === "answered").map(({ jobId = "" }) => jobId);
  const often = [...new Set(answered)].flatMap((jobId) => {
    const times = count(answered, jobId);
    const timesMax = 1 + count(lost, jobId) + hits.filter(({ jobIds }) => jobIds.includes(jobId)).length;
    return times > timesMax ? [`${jobId} was answered ${times} times, and ${timesMax} would be right`] : [];
  });
  const aborted = calls.filter(
    (call) =>
      call.outcome === "aborted" &&
      !hits.some((hit) => hit.jobIds.includes(call.jobId ?? "") && overlap(spanOf(call), aftermathOf(hit))) &&
      !dark.some((span) => overlap(spanOf(call), span)),
  );
  return [...often, ...aborted.map(({ jobId }) => `a request of ${jobId} was aborted for no reason`)];
}

/** When it thaws, a worker may ask once more before it learns that the job is no longer its own. */
function aftermathOf({ kind, fromMs, toMs }: Hit): Span {
  return { fromMs, toMs: kind === "frozen" ? Infinity : toMs };
}

function count(all: readonly string[], one: string): number {
  return all.filter((other) => other === one).length;
}

/** Requests in flight are covered by leases: what a frozen worker has sent, it cannot take back. */
function overLimit({ calls, limits, hits }: History): readonly string[] {
  const frozen = hits.filter(({ kind }) => kind === "frozen");
  const covered = calls.filter(
    (call) =>
      call.op !== "count_tokens" &&
      !frozen.some((hit) => hit.jobIds.includes(call.jobId ?? "") && overlap(spanOf(call), hit)),
  );
  return [...limits].flatMap(([target, limit]) => {
    const spans = covered.filter((call) => targetOf(call) === target).map((call) => spanOf(call));
    const most = Math.max(
      0,
      ...spans.map(({ fromMs }) => spans.filter((span) => span.fromMs <= fromMs && fromMs < span.toMs).length),
    );
    return most > limit ? [`${most} requests were in flight at ${target}, and its limit is ${limit}`] : [];
  });
}

function spanOf({ startedAtMs, endedAtMs = Infinity }: CallRecord): Span {
  return { fromMs: startedAtMs, toMs: endedAtMs };
}

function overlap(one: Span, other: Span): boolean {
  return one.fromMs <= other.toMs && other.fromMs <= one.toMs;
}

/** What is left when all is quiet. */
function leftBehind({ thrown, messages, parkable, parked, leasesOut, calls }: History): readonly string[] {
  const open = calls.filter(({ outcome }) => outcome === undefined).length;
  return [
    ...thrown.map((name) => `an invocation ended with ${name}`),
    ...[...messages].flatMap(([queue, left]) => (left > 0 ? [`${left} messages are left in ${queue}`] : [])),
    ...parked.filter((one) => !parkable.includes(one)).map((one) => `parked, and should not be: ${one}`),
    ...parkable.filter((one) => !parked.includes(one)).map((one) => `not parked: ${one}`),
    ...(leasesOut > 0 ? [`${leasesOut} leases were never returned`] : []),
    ...(open > 0 ? [`${open} requests are still in flight`] : []),
  ];
}
