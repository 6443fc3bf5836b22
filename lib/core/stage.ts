import type { RequeueCause } from "./settlement.ts";

/** Where a job is in its life. `attempt` begins only once every lease is held. */
export type Stage =
  | { readonly kind: "queued" }
  | { readonly kind: "waiting"; readonly step: string }
  | { readonly kind: "attempt"; readonly step: string; readonly attempt: number; readonly attemptsMax: number }
  | { readonly kind: "backoff"; readonly step: string; readonly untilMs: number }
  | { readonly kind: "requeued"; readonly untilMs: number; readonly cause: RequeueCause }
  | { readonly kind: "ended"; readonly status: string };

/** The stage as it rides on a write of the job row. */
export interface StageRow {
  readonly stage: string;
  readonly stageAtMs: number;
  readonly step?: string;
  /** Why it was handed back. */
  readonly cause?: RequeueCause;
}

/** The stage as it stands in the row, the log and on the dashboard: `attempt=2/4`. */
export function stageText(stage: Stage): string {
  switch (stage.kind) {
    case "queued":
    case "waiting":
    case "backoff":
      return stage.kind;
    case "attempt":
      return `attempt=${stage.attempt}/${stage.attemptsMax}`;
    case "requeued":
      return `requeued until ${isoText(stage.untilMs)}`;
    case "ended":
      return stage.status;
  }
}

/** A time beyond what a Date holds is shown as its number: the name of a stage never throws. */
function isoText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
