import { errorName } from "../core/error-name.ts";
import { announceRetryMs } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import { isAmong } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import { echoing } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import type { World } from "../ports.ts";
import type { Bound } from "./in-time.ts";

/** A stored reply, and who has been told of it. */
export interface Announceable {
  readonly jobId: string;
  readonly reply: string;
  readonly announced: readonly ReplyTo[];
  /** Of the message that is answered: the reply may have been written by one who did not have it. */
  readonly metadata?: Reply["metadata"];
}

/** What telling needs of the world. */
type Teller = Pick<World, "announcer" | "clock" | "jobs" | "telemetry">;

/**
 * Tells a destination of a stored reply, unless it has been told. Answers whether its message may go: false where the
 * reply was neither announced nor noted as a debt of the sweeper's.
 */
export async function announce(
  world: Teller,
  { jobId, reply, announced, metadata = {} }: Announceable,
  to: ReplyTo | undefined,
  tags: Tags,
  bound: Bound,
): Promise<boolean> {
  if (to === undefined || isAmong(to, announced)) return true;
  const told = { jobId, reply: echoing(reply, metadata) };
  if ((await tell(world, told, to, tags, bound)) !== "untold") return true;
  return owe(world, { jobId, announced }, to, tags, bound);
}

/** Notes that a destination is owed the reply: from then on it is the sweeper's to tell. Answers whether it is noted. */
export async function owe(
  world: Teller,
  { jobId, announced }: Pick<Announceable, "jobId" | "announced">,
  to: ReplyTo,
  tags: Tags,
  bound: Bound,
): Promise<boolean> {
  if (isAmong(to, announced)) return true;
  const dueMs = world.clock.nowMs() + announceRetryMs;
  const defer = () => bound(() => world.jobs.deferAnnouncement(jobId, to, dueMs));
  return isWritten(world, "defer an announcement", defer, tags);
}

/** Tells a destination, then notes it in the row: whoever dies in between tells again, as for one that is `unnoted`. */
export async function tell(
  world: Teller,
  { jobId, reply }: Pick<Announceable, "jobId" | "reply">,
  to: ReplyTo,
  tags: Tags,
  bound: Bound,
): Promise<"told" | "unnoted" | "untold"> {
  const { announcer, jobs, telemetry } = world;
  const by = to.kind;
  try {
    const how = await bound(() => announcer.announce(to, reply));
    telemetry.note({ ...tags, kind: "announced", by, how });
  } catch (error) {
    telemetry.note({ ...tags, kind: "announcement-failed", by, error: errorName(error) });
    return "untold";
  }
  const note = () => bound(() => jobs.markAnnounced(jobId, to));
  return (await isWritten(world, "note an announcement", note, tags)) ? "told" : "unnoted";
}

async function isWritten(
  { telemetry }: Teller,
  what: string,
  write: () => Promise<void>,
  tags: Tags,
): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    telemetry.note({ ...tags, kind: "trouble", what, error: errorName(error) });
    return false;
  }
}
