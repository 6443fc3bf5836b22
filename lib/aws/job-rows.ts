import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { noProgress, progressFrom, storable } from "../core/claim.ts";
import type { Claim, JobRow, Progress } from "../core/claim.ts";
import { isObject, parseJson } from "../core/json.ts";
import { isLane } from "../core/lane.ts";
import { claimGraceMs, rowFormat, sweepLateMs } from "../core/limits.ts";
import { readReplyTo, replyToText } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import type { StageRow } from "../core/stage.ts";
import { sweepShardOf } from "../core/sweep.ts";
import type { CompleteAsk } from "../ports.ts";
import { attribute, readNumber, readString } from "./row.ts";
import type { Item } from "./row.ts";

// What a row must say for a write to go through.
const exists = "attribute_exists(#jobId)";
const isNew = "attribute_not_exists(#jobId)";
const unanswered = "attribute_not_exists(#reply)";
const readable = "(attribute_not_exists(#format) OR #format <= :format)";
const sameContent = "(attribute_not_exists(#contentHash) OR #contentHash = :contentHash)";
const due = "(attribute_not_exists(#notBeforeMs) OR #notBeforeMs <= :nowMs)";
const free = "(attribute_not_exists(#state) OR #state = :queued OR #heldUntilMs < :abandonedBeforeMs)";
/** A late copy of an old claim comes with an old end: it changes nothing. */
const heldLongerThanEver = "(attribute_not_exists(#heldUntilMs) OR #heldUntilMs < :heldUntilMs)";
/** And so comes a late copy of a counted release. */
const laterThanAnyRelease = "(attribute_not_exists(#releasedAtMs) OR #releasedAtMs < :nowMs)";
const stillMine = "#holder = :holder AND #fence = :fence AND #state = :running";
const running = "#state = :running";
const notCancelled = "attribute_not_exists(#cancelAskedAtMs)";
const notAnnounced = "NOT contains(#announced, :toText)";
const neverRunAgain = "attribute_not_exists(#reruns)";

export const claimIf = all(unanswered, readable, sameContent, due, free, heldLongerThanEver);
export const claimEarlyIf = all(unanswered, readable, sameContent, free, heldLongerThanEver);
export const extendIf = all(unanswered, stillMine, "#heldUntilMs < :heldUntilMs");
export const giveBackIf = all(unanswered, stillMine, notCancelled);
export const completeIf = all(unanswered, stillMine);
export const countReleaseIf = all(unanswered, readable, sameContent, free, laterThanAnyRelease);
export const replyUnclaimedIf = isNew;
export const replyUnlessRunningIf = all(unanswered, readable, free);
export const storeReplyIf = all(unanswered, readable, sameContent);
export const markAnnouncedIf = exists;
export const deferAnnouncementIf = all(exists, notAnnounced);
export const askCancelIf = all(exists, unanswered, running);
export const sweptIf = "#sweepAtMs = :sweepAtMs";
export const forgetIf = all(readable, "#reply = :seen");
export const rerunFirstIf = all(exists, neverRunAgain);
export const rerunIf = "#reruns = :seen";
export const scanOpen = unanswered;
/** The last stage of a job is how it ended. */
export const scanEnded = "attribute_exists(#reply) AND #stage = :which";

export const setProgress = Object.keys(noProgress).map((name) => `#${name} = :${name}`);
export const setStage = ["#stage = :stage", "#stageAtMs = :stageAtMs"];
/** From its first requeue on a job is the sweeper's to end, should its message be lost. Costs nothing to one that has none. */
export const sweepAfterDeadline = ["#sweepShard = :sweepShard", "#sweepAtMs = #deadlineAtMs + :sweepLateMs"];
export const sweepWhenDue = ["#sweepShard = :sweepShard", "#sweepAtMs = :dueMs"];
export const unsweep = "REMOVE #sweepShard, #sweepAtMs, #sweeps";
/** With the reply the message is there to tell whoever waits, and the row need not know him. */
export const unsweepAnswered = `${unsweep}, #replyTo`;

export const states = attributes({ queued: "queued", running: "running", ended: "ended" });
export const numbers = attributes({ zero: 0, one: 1, format: rowFormat });

/** The row as far as it can be read: what is missing counts as never used. */
export function rowOf(item: Item): JobRow {
  const count = (name: string) => readNumber(item, name) ?? 0;
  const usage = item["usage"]?.M ?? {};
  const state = readString(item, "state");
  const lane = readString(item, "lane");
  return {
    jobId: readString(item, "jobId") ?? "",
    format: count("format"),
    fence: count("fence"),
    givenBack: count("givenBack"),
    cancelAsked: item["cancelAskedAtMs"] !== undefined,
    announced: destinations(item, "announced"),
    unannounced: destinations(item, "unannounced"),
    ...(state === "queued" || state === "running" || state === "ended" ? { state } : {}),
    ...(isLane(lane) ? { lane } : {}),
    ...present("heldUntilMs", readNumber(item, "heldUntilMs")),
    ...present("notBeforeMs", readNumber(item, "notBeforeMs")),
    ...present("deadlineAtMs", readNumber(item, "deadlineAtMs")),
    ...present("enqueuedAtMs", readNumber(item, "enqueuedAtMs")),
    ...present("startedAtMs", readNumber(item, "startedAtMs")),
    ...present("releasedAtMs", readNumber(item, "releasedAtMs")),
    ...present("stageAtMs", readNumber(item, "stageAtMs")),
    ...present("contentHash", readString(item, "contentHash")),
    ...present("holder", readString(item, "holder")),
    ...present("reply", readString(item, "reply")),
    ...present("sweepAtMs", readNumber(item, "sweepAtMs")),
    ...present("sweeps", readNumber(item, "sweeps")),
    ...present("replyTo", readReplyTo(parseJson(readString(item, "replyTo") ?? ""))),
    ...present("reruns", texts(readString(item, "reruns"))),
    ...present("stage", readString(item, "stage")),
    ...present("stageBefore", readString(item, "stageBefore")),
    ...present("step", readString(item, "step")),
    ...present("cause", readString(item, "cause")),
    ...present("worker", readString(item, "worker")),
    ...progressFrom(count, (name) => readNumber(usage, name) ?? 0),
  };
}

/** The key, if there is a value: an absent attribute is an absent key. */
function present<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  const field: { [P in K]?: V } = {};
  if (value !== undefined) field[key] = value;
  return field;
}

function destinations(item: Item, name: string): readonly ReplyTo[] {
  return (item[name]?.SS ?? []).flatMap((text) => readReplyTo(parseJson(text)) ?? []);
}

/** Written as JSON text: not every engine compares maps. */
function texts(json: string | undefined): Readonly<Record<string, string>> | undefined {
  const map = parseJson(json ?? "");
  if (!isObject(map)) return undefined;
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
  );
}

/** What puts a row into the sweeper's index, with whom its reply is for. */
export function sweeping(jobId: string, replyTo?: ReplyTo): Item {
  const to = replyTo === undefined ? {} : { replyTo: replyToText(replyTo) };
  return attributes({ sweepShard: sweepShardOf(jobId), sweepLateMs, ...to });
}

/** The last message that named a destination decides. */
export function setReplyTo(replyTo: ReplyTo | undefined): string[] {
  return replyTo === undefined ? [] : ["#replyTo = :replyTo"];
}

/** A destination as the member of a set, and as what a condition looks for in it. */
export function destination(to: ReplyTo): Item {
  const text = replyToText(to);
  return { to: { SS: [text] }, toText: { S: text } };
}

export function progressAttributes(progress: Progress): Item {
  const { usage, ...counts } = storable(progress);
  return { ...attributes(counts), usage: { M: attributes(usage) } };
}

export function mine({ holder, fence }: Claim): Item {
  return attributes({ holder, fence });
}

export function ending({ reply, status, ttlS, nowMs }: Omit<CompleteAsk, "progress">): Item {
  return {
    ...states,
    ...numbers,
    ...attributes({
      reply,
      ttl: Math.ceil(ttlS),
      stage: status,
      stageAtMs: nowMs,
      abandonedBeforeMs: nowMs - claimGraceMs,
    }),
  };
}

/** A stage without a step, or without a cause, leaves the last one standing: it tells where the job was, and why. */
export function setPlace({ step, cause }: StageRow): string[] {
  return [...(step === undefined ? [] : ["#step = :step"]), ...(cause === undefined ? [] : ["#cause = :cause"])];
}

export function attributes(facts: object): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]: [string, unknown]) =>
      typeof value === "string" || typeof value === "number" ? [[name, attribute(value)]] : [],
    ),
  );
}

function all(...clauses: readonly string[]): string {
  return clauses.join(" AND ");
}

export function set(...assignments: readonly string[]): string {
  return `SET ${assignments.join(", ")}`;
}
