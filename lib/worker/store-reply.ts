import type { Completed } from "../core/claim.ts";
import { errorName } from "../core/error-name.ts";
import type { UnstoredReply } from "../core/outbox.ts";
import type { Reply } from "../core/reply.ts";
import { replyText, replyTtlS } from "../core/reply.ts";
import { fitForRow } from "./fit-for-row.ts";
import { lastTry } from "./in-time.ts";
import { insist } from "./insist.ts";
import type { Run } from "./run.ts";
import { sendToOutbox } from "./send-to-outbox.ts";

/** Where a reply has come to. */
export type Place =
  | { readonly kind: "stored"; readonly text: string }
  /** Refused: another was there first, or the claim was overtaken. */
  | Extract<Completed, { readonly kind: "lost" }>
  /** The replies queue has it, which is as safe. */
  | { readonly kind: "queued" }
  /** This container's memory has it, and nothing else. */
  | { readonly kind: "kept" };

/** The table, for as long as a write may be tried; then the replies queue; then the memory of this container. */
export async function storeReply(run: Run, reply: Reply): Promise<Place> {
  const { worker } = run.invocation;
  const { objects, telemetry } = worker.world;
  const put = (output: string) => lastTry(run.invocation, () => objects.putOutput(reply.jobId, output));
  const text = await fitForRow(worker, replyText(reply), put, run.tags);
  const completed = await insist(
    run,
    () => complete(run, reply, text),
    (error) => telemetry.note({ ...run.tags, kind: "reply-store-failed", error }),
  );
  if (completed?.kind === "stored") return { kind: "stored", text };
  return completed ?? secondBest(run, unstoredOf(run, reply, text));
}

/** One conditional write: one winner, ever. */
function complete(run: Run, reply: Reply, text: string): Promise<Completed> {
  const { config, world } = run.invocation.worker;
  const nowMs = world.clock.nowMs();
  return world.jobs.complete(run.claim, {
    nowMs,
    reply: text,
    status: reply.status,
    ttlS: replyTtlS(nowMs, config.replies.ttlDays),
    progress: run.progress,
  });
}

async function secondBest(run: Run, unstored: UnstoredReply): Promise<Place> {
  const { kept, world } = run.invocation.worker;
  try {
    await sendToOutbox(world, unstored, (act) => lastTry(run.invocation, act));
    world.telemetry.note({ ...run.tags, kind: "reply-via-outbox" });
    kept.keep(unstored, true); // a copy of the message may come before the reply-store has written
    return { kind: "queued" };
  } catch (error) {
    world.telemetry.note({ ...run.tags, kind: "reply-kept", error: errorName(error) });
    keep(run, unstored);
    return { kind: "kept" };
  }
}

function keep({ invocation }: Run, unstored: UnstoredReply): void {
  const { kept, world } = invocation.worker;
  for (const { jobId } of kept.keep(unstored)) world.telemetry.note({ jobId, kind: "reply-dropped" });
}

function unstoredOf({ job, progress }: Run, { status }: Reply, reply: string): UnstoredReply {
  const { jobId, contentHash, lane, replyTo } = job;
  return { jobId, contentHash, lane, status, reply, progress, ...(replyTo === undefined ? {} : { replyTo }) };
}
