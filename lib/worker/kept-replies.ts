import { errorName } from "../core/error-name.ts";
import { keptReplyBytesMax } from "../core/limits.ts";
import type { UnstoredReply } from "../core/outbox.ts";
import type { Invocation } from "./invocation.ts";
import { sendToOutbox } from "./send-to-outbox.ts";

interface Kept {
  readonly unstored: UnstoredReply;
  /** The replies queue has it by now. Until the table has it too, a claim of its job finds it only here. */
  readonly isQueued: boolean;
}

/** Replies that the job table did not take, nor at first the replies queue, by job. They live as long as the container. */
export class KeptReplies {
  readonly #replies = new Map<string, Kept>();
  #bytes = 0;

  /** What only this container has, the oldest first. */
  get unqueued(): readonly UnstoredReply[] {
    return [...this.#replies.values()].flatMap(({ unstored, isQueued }) => (isQueued ? [] : [unstored]));
  }

  /** The reply to this content of a job. */
  of(jobId: string, contentHash: string): UnstoredReply | undefined {
    const unstored = this.#replies.get(jobId)?.unstored;
    return unstored?.contentHash === contentHash ? unstored : undefined;
  }

  /** Answers those that are lost by it: the oldest go, those first that are safe, and never itself. */
  keep(unstored: UnstoredReply, isQueued = false): readonly UnstoredReply[] {
    this.#put({ unstored, isQueued });
    const lost: UnstoredReply[] = [];
    // What is safe is there for copies alone: it drives out nothing that is not.
    const others = [...this.#replies.values()].filter((kept) =>
      isQueued ? kept.isQueued : kept.unstored !== unstored,
    );
    for (const kept of others.toSorted((one, other) => Number(other.isQueued) - Number(one.isQueued))) {
      if (this.#bytes <= keptReplyBytesMax) break;
      this.forget(kept.unstored.jobId);
      if (!kept.isQueued) lost.push(kept.unstored);
    }
    return lost;
  }

  /** The replies queue has it. */
  queued(unstored: UnstoredReply): void {
    if (this.#replies.get(unstored.jobId)?.unstored === unstored) this.#put({ unstored, isQueued: true });
  }

  /** Its job has its reply. */
  forget(jobId: string): void {
    const kept = this.#replies.get(jobId);
    if (kept === undefined) return;
    this.#replies.delete(jobId);
    this.#bytes -= bytesOf(kept);
  }

  #put(kept: Kept): void {
    this.forget(kept.unstored.jobId);
    this.#replies.set(kept.unstored.jobId, kept);
    this.#bytes += bytesOf(kept);
  }
}

function bytesOf({ unstored }: Kept): number {
  return Buffer.byteLength(unstored.reply);
}

/**
 * Tries the replies queue for all that is not in it. The first that fails tells of the others; the smallest come first,
 * so that none waits for one that needs S3.
 */
export async function flushKept(invocation: Invocation): Promise<void> {
  const { kept, lane, world } = invocation.worker;
  for (const unstored of kept.unqueued.toSorted((one, other) => one.reply.length - other.reply.length)) {
    // The clock is asked: with all jobs settled no bell rings any more.
    if (world.clock.nowMs() >= invocation.bellAtMs) return;
    const tags = { jobId: unstored.jobId, lane };
    try {
      await sendToOutbox(world, unstored, (act) => act());
    } catch (error) {
      const what = "send a kept reply to the replies queue";
      return world.telemetry.note({ ...tags, kind: "trouble", what, error: errorName(error) });
    }
    kept.queued(unstored);
    world.telemetry.note({ ...tags, kind: "reply-via-outbox" });
  }
}
