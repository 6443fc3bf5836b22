import type { JobRow } from "../../../lib/core/claim.ts";
import { claimGraceMs } from "../../../lib/core/limits.ts";
import { t0 } from "../../a.ts";
import { momentsOf } from "./history.ts";
import type { History } from "./history.ts";

/** `law`: the invariant's number in the spec's §18. */
export interface Breach {
  readonly law: number;
  readonly atMs: number;
  readonly about: string;
  readonly says: string;
}

type Found = Omit<Breach, "law">;
type Judge = (history: History) => readonly Found[];

/** Machines' clocks differ by up to half a second, each. */
const skewMsMax = 1_000;

/** 1: every message that reached a worker ends in a final reply of its job, or parked. */
const endsOnce: Judge = (history) => {
  const { end, messages, scenario } = history;
  const replied = new Set(end.rows.filter(({ reply }) => reply !== undefined).map(({ jobId }) => jobId));
  const parked = new Set(momentsOf(history, "parked").map(({ messageId }) => messageId));
  const endless = [...messages].flatMap(([messageId, index]): Found[] => {
    const jobId = scenario.sends[index]?.jobId;
    const hasEnd = parked.has(messageId) || (jobId !== undefined && replied.has(jobId));
    return hasEnd ? [] : [{ atMs: end.atMs, about: jobId ?? messageId, says: "its message has no end" }];
  });
  if (end.stuck !== undefined) endless.push({ atMs: end.atMs, about: "", says: end.stuck });
  return endless;
};

/** 2: a final reply is never changed and never stored twice. */
const repliesStay: Judge = (history) =>
  momentsOf(history, "row").flatMap(({ atMs, before, after }) =>
    before?.reply === undefined || before.reply === after.reply
      ? []
      : [{ atMs, about: after.jobId, says: "its reply was changed" }],
  );

/** 3: no message is deleted before its reply is stored, or the message parked. */
const deletesLast: Judge = (history) => {
  const safe = new Set<string>();
  const found: Found[] = [];
  for (const moment of history.moments) {
    if (moment.kind === "row" && moment.after.reply !== undefined) safe.add(`job ${moment.after.jobId}`);
    if (moment.kind === "parked") safe.add(moment.messageId);
    if (moment.kind !== "deleted") continue;
    const { messageId, atMs } = moment;
    const jobId = history.scenario.sends[history.messages.get(messageId) ?? -1]?.jobId;
    if (!safe.has(messageId) && !safe.has(`job ${jobId}`))
      found.push({ atMs, about: jobId ?? messageId, says: "its message was deleted with nothing to show for it" });
  }
  return found;
};

/** 7: what is stored is never asked for again; what was received, only after its claim lapsed. */
const boughtOnce: Judge = (history) => {
  const rows = new Map<string, JobRow>();
  const received = new Map<string, number>();
  const found: Found[] = [];
  for (const moment of history.moments) {
    if (moment.kind === "row") rows.set(moment.after.jobId, moment.after);
    if (moment.kind === "ended" && moment.heard && isAnswer(moment.answer)) {
      const jobId = jobIdOf(moment.call.args);
      const untilMs = rows.get(jobId)?.heldUntilMs ?? 0;
      received.set(jobId, untilMs + claimGraceMs - skewMsMax);
    }
    // As the code called it: what a freeze does to a request on its way out is nobody's fault.
    if (moment.kind !== "called" || moment.call.name !== "models.ask") continue;
    const jobId = jobIdOf(moment.call.args);
    const { atMs } = moment;
    if (rows.get(jobId)?.reply !== undefined) found.push({ atMs, about: jobId, says: "asked for though answered" });
    else if (atMs < (received.get(jobId) ?? 0))
      found.push({ atMs, about: jobId, says: "asked for again though its answer was received" });
  }
  return found;
};

const laws: readonly (readonly [law: number, judge: Judge])[] = [
  [1, endsOnce],
  [2, repliesStay],
  [3, deletesLast],
  [7, boughtOnce],
];

export function breaches(history: History): readonly Breach[] {
  return laws.flatMap(([law, judge]) => judge(history).map((found) => ({ law, ...found })));
}

export function breachText({ law, atMs, about, says }: Breach): string {
  return `invariant ${law} at ${((atMs - t0) / 1_000).toFixed(3)} s: ${about} ${says}`;
}

function jobIdOf([request]: readonly unknown[]): string {
  if (typeof request !== "object" || request === null || !("jobId" in request)) return "";
  return String(request.jobId);
}

function isAnswer(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "answered";
}
