import { isHeld } from "../core/claim.ts";
import type { JobRow } from "../core/claim.ts";
import type { Op } from "../core/config.ts";
import { metaOfRow, replyOf, replyText, replyTtlS } from "../core/reply.ts";
import type { Reply } from "../core/reply.ts";
import type { Clock, JobTable } from "../ports.ts";
import type { ReplyOf } from "./job.ts";
import { storedReply } from "./wait.ts";

const roundsMax = 5;

export type Cancelled<O extends Op> =
  /** It will not run: the reply `cancelled` is stored. Also for a job that nobody has seen yet. */
  | { readonly kind: "cancelled" }
  /** It is running: its worker was told and will reply within a heartbeat, with `cancelled` or with what was faster. */
  | { readonly kind: "asked" }
  /** It had ended before; nothing changed. */
  | { readonly kind: "ended"; readonly reply: ReplyOf<O> };

/** A job may start, stop and end between two requests: a refusal means to look again. */
export async function cancel<O extends Op>(
  jobId: string,
  jobs: JobTable,
  clock: Clock,
  ttlDays: number,
): Promise<Cancelled<O>> {
  for (let round = 1; round <= roundsMax; round += 1) {
    const row = await jobs.read(jobId);
    const reply = storedReply<O>(row);
    if (reply !== undefined) return { kind: "ended", reply };
    const nowMs = clock.nowMs();
    if (row !== undefined && isHeld(row, nowMs)) {
      const asked = await jobs.askCancel(jobId, nowMs);
      if (asked.kind === "taken") return { kind: "asked" };
    } else {
      const ended = await jobs.replyUnlessRunning(jobId, {
        nowMs,
        reply: replyText(cancelledReply(jobId, row, nowMs)),
        status: "cancelled",
        ttlS: replyTtlS(nowMs, ttlDays),
      });
      if (ended.kind === "stored") return { kind: "cancelled" };
    }
  }
  throw new Error(
    `job ${jobId} could not be cancelled: its row changed under ${roundsMax} tries, or a newer version wrote it; try once more, with the deployed version's client`,
  );
}

function cancelledReply(jobId: string, row: JobRow | undefined, nowMs: number): Reply {
  const meta = metaOfRow(row, nowMs, { worker: "client", workerVersion: "" });
  return replyOf({ jobId, metadata: {} }, { kind: "cancelled" }, meta);
}
