import { noUsage } from "../core/attempt.ts";
import type { JobRow } from "../core/claim.ts";
import type { Op } from "../core/config.ts";
import type { Reply } from "../core/reply.ts";
import type { Clock, JobTable } from "../ports.ts";
import type { ReplyOf } from "./job.ts";
import { replyOf } from "./wait.ts";

const roundsMax = 5;

export type Cancelled<O extends Op> =
  /** It will not run: the reply `cancelled` is stored. Also for a job that nobody has seen yet. */
  | { readonly kind: "cancelled" }
  /** It is running: its worker was told and will reply within a heartbeat, with `cancelled` or with what was faster. */
  | { readonly kind: "asked" }
  /** It had ended before; nothing changed. */
  | { readonly kind: "ended"; readonly reply: ReplyOf<O> };

/** A job may start, stop and end between two requests; each refusal brings the row that says what to try next. */
export async function cancel<O extends Op>(
  jobId: string,
  jobs: JobTable,
  clock: Clock,
  ttlDays: number,
): Promise<Cancelled<O>> {
  let row = await jobs.read(jobId);
  for (let round = 1; round <= roundsMax; round += 1) {
    const reply = replyOf<O>(row);
    if (reply !== undefined) return { kind: "ended", reply };
    const nowMs = clock.nowMs();
    if (row?.state === "running") {
      const asked = await jobs.askCancel(jobId, nowMs);
      if (asked.kind === "taken") return { kind: "asked" };
    } else {
      const ended = await jobs.replyUnclaimed(jobId, {
        nowMs,
        reply: JSON.stringify(cancelledReply(jobId, row, nowMs)),
        status: "cancelled",
        ttlS: Math.ceil(nowMs / 1_000) + ttlDays * 86_400,
      });
      if (ended.kind === "stored") return { kind: "cancelled" };
    }
    row = await jobs.read(jobId);
  }
  throw new Error(`job ${jobId} changed its state ${roundsMax} times while it was being cancelled; cancel it again`);
}

/** What the row knows; a job that no worker has claimed has no model, no metadata and no history here. */
function cancelledReply(jobId: string, row: JobRow | undefined, nowMs: number): Reply {
  const totalMs = row?.enqueuedAtMs === undefined ? 0 : Math.max(0, nowMs - row.enqueuedAtMs);
  return {
    jobId,
    ok: false,
    status: "cancelled",
    error: { code: "cancelled", message: "cancelled while it was not running; send it under another jobId to run it", retryable: false },
    meta: {
      model: row?.step?.split("@")[0] ?? "",
      fallbackUsed: false,
      attempts: row?.attempts ?? 0,
      deliveries: row?.fence ?? 0,
      queueMs: totalMs,
      leaseWaitMs: row?.leaseWaitMs ?? 0,
      providerMs: row?.providerMs ?? 0,
      totalMs,
      sleptMs: row?.sleptMs ?? 0,
      usage: row?.usage ?? noUsage,
      steps: [],
      worker: "client",
      workerVersion: "",
    },
    metadata: {},
  };
}
