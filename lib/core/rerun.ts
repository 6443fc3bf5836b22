import type { Envelope } from "./envelope.ts";
import { jobIdLengthMax } from "./envelope.ts";

/**
 * The id under which a job's parked message is run again: `order-8812-summary` → `order-8812-summary~2`, and so on from
 * there, past those that are taken. Undefined: it would be too long for a jobId.
 */
export function nextJobId(jobId: string, isTaken: (jobId: string) => boolean): string | undefined {
  const [, base = jobId, count = "1"] = /(.+)~([1-9]\d{0,8})$/.exec(jobId) ?? [];
  for (let next = Number(count) + 1; ; next += 1) {
    const id = `${base}~${next}`;
    if (id.length > jobIdLengthMax) return undefined;
    if (!isTaken(id)) return id;
  }
}

/** The same content under a new id: a deadline that has passed would end it at once. */
export function rerunOf({ deadlineAtMs, ...envelope }: Envelope, jobId: string, nowMs: number): Envelope {
  const isAhead = deadlineAtMs !== undefined && deadlineAtMs > nowMs;
  return { ...envelope, jobId, ...(isAhead ? { deadlineAtMs } : {}) };
}
