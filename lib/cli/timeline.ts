import type { JobRow } from "../core/claim.ts";
import { crashesOf } from "../core/claim.ts";
import { isEndless } from "../core/override.ts";
import { replyIn } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import type { Standing } from "../core/why-open.ts";
import { counted } from "../core/words.ts";

export interface Moment {
  readonly atMs: number;
  readonly what: string;
}

/** The life of a job as its row tells it, from the queue to the reply, or to what comes next. */
export function timelineOf(row: JobRow, standing?: Pick<Standing, "why" | "untilMs">): readonly Moment[] {
  const { enqueuedAtMs, startedAtMs, releasedAtMs, stageAtMs, stage, lane, deadlineAtMs } = row;
  const reply = replyIn(row);
  return [
    ...at(enqueuedAtMs, `queued${lane === undefined ? "" : ` in ${lane}`}`),
    ...at(releasedAtMs, `released by workers that do not know its model, ${counted(row.releases, "time")}`),
    ...at(startedAtMs, "first taken by a worker"),
    ...(reply === undefined
      ? at(stageAtMs, `${[stage, placeOf(row)].filter(Boolean).join(" ")}${crashed(row)}`)
      : at(stageAtMs, `${endText(reply)}${crashed(row)}`)),
    ...(reply === undefined ? at(plannedEnd(standing?.untilMs, stageAtMs), "comes again, or sooner") : []),
    ...(reply === undefined ? at(deadlineAtMs, "its deadline") : []),
  ].toSorted((a, b) => a.atMs - b.atMs);
}

/** A pause that somebody has to take back has no place in time. */
function plannedEnd(untilMs: number | undefined, sinceMs = 0): number | undefined {
  return untilMs === undefined || isEndless(untilMs, sinceMs) ? undefined : untilMs;
}

function endText(reply: Reply): string {
  const { model, target } = reply.meta;
  if (reply.ok) return `succeeded by ${target === undefined ? model : `${model}@${target}`}`;
  const { code } = reply.error;
  return code === reply.status ? code : `${reply.status}: ${code}`;
}

function placeOf({ step, stage = "" }: JobRow): string {
  return step === undefined || stage.startsWith("requeued") ? "" : `at ${step}`;
}

function crashed(row: JobRow): string {
  const crashes = crashesOf(row);
  return crashes === 0 ? "" : `; ${counted(crashes, "delivery", "deliveries")} before crashed`;
}

function at(atMs: number | undefined, what: string): readonly Moment[] {
  return atMs === undefined ? [] : [{ atMs, what }];
}
