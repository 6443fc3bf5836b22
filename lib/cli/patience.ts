/** Reads of the job table by one who waits for hours: a moment in which nobody answers does not end that. */
import type { JobRow } from "../core/claim.ts";
import type { Clock, JobTable } from "../ports.ts";
import { explain, isPassing } from "./explain.ts";

const silentMsMax = 60_000;
const pauseMs = 1_000;

/** What the table has of them; nothing once the signal fires. @throws what stays wrong, or lasts a minute. */
export type PatientRead = (jobIds: readonly string[], signal: AbortSignal) => Promise<readonly JobRow[]>;

/** `tell` hears once that nobody answers, and once that somebody does again, whoever of several readers is the first. */
export function patientRead(
  jobs: Pick<JobTable, "readMany">,
  clock: Pick<Clock, "nowMs" | "sleep">,
  tell: (what: string) => void,
): PatientRead {
  // A table that never answered is the wrong one, or has no way to it: there is nothing to wait for.
  let answeredOnce = false;
  let silentFromMs: number | undefined;
  return async (jobIds, signal) => {
    if (jobIds.length === 0) return [];
    while (!signal.aborted) {
      try {
        const rows = await jobs.readMany(jobIds);
        if (silentFromMs !== undefined) tell("the job table answers again");
        answeredOnce = true;
        silentFromMs = undefined;
        return rows;
      } catch (error) {
        if (!answeredOnce || !isPassing(error)) throw error;
        if (silentFromMs === undefined) tell(silenceText(error));
        silentFromMs ??= clock.nowMs();
        if (clock.nowMs() - silentFromMs >= silentMsMax) throw error;
      }
      await clock.sleep(pauseMs, signal);
    }
    return [];
  };
}

export function silenceText(error: unknown): string {
  return `${explain(error).what}; the job table is asked again for ${silentMsMax / 1_000} s`;
}
