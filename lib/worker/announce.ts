import { errorName } from "../core/error-name.ts";
import { announceRetryMs } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import { isAmong } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import type { World } from "../ports.ts";
import type { Bound } from "./in-time.ts";

/** A stored reply, and who has been told of it. */
export interface Announceable {
  readonly jobId: string;
  readonly reply: string;
  readonly announced: readonly ReplyTo[];
}

/**
 * Tells a destination of a stored reply, unless it has been told. Answers whether its message may go: false where the
 * reply was neither announced nor noted as a debt of the sweeper's. Whoever dies in between tells again.
 */
export async function announce(
  { announcer, clock, jobs, telemetry }: Pick<World, "announcer" | "clock" | "jobs" | "telemetry">,
  { jobId, reply, announced }: Announceable,
  to: ReplyTo | undefined,
  tags: Tags,
  bound: Bound,
): Promise<boolean> {
  if (to === undefined || isAmong(to, announced)) return true;
  const by = to.kind;
  try {
    const how = await bound(() => announcer.announce(to, reply));
    telemetry.note({ ...tags, kind: "announced", by, how });
  } catch (failure) {
    telemetry.note({ ...tags, kind: "announcement-failed", by, error: errorName(failure) });
    return await noted("defer an announcement", () =>
      jobs.deferAnnouncement(jobId, to, clock.nowMs() + announceRetryMs),
    );
  }
  await noted("note an announcement", () => jobs.markAnnounced(jobId, to));
  return true;

  async function noted(what: string, write: () => Promise<void>): Promise<boolean> {
    try {
      await bound(write);
      return true;
    } catch (error) {
      telemetry.note({ ...tags, kind: "trouble", what, error: errorName(error) });
      return false;
    }
  }
}
