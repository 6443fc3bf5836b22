import { replyStoreVisibilityS, sqsMessageBytesMax } from "../core/limits.ts";
import type { Clock, Outbox } from "../ports.ts";
import { createMemoryQueue } from "./queue.ts";
import type { MemoryQueue } from "./queue.ts";

/** The replies queue in memory. */
export interface MemoryOutbox extends Outbox {
  /** What the reply-store receives from, hides in and parks by. */
  readonly queue: MemoryQueue;
}

export function createMemoryOutbox(clock: Pick<Clock, "nowMs" | "newId">): MemoryOutbox {
  const queue = createMemoryQueue(clock, { visibilityS: replyStoreVisibilityS });
  return {
    queue,
    async send(message) {
      if (new TextEncoder().encode(message).length > sqsMessageBytesMax) throw new TooLong();
      queue.send(message);
    },
  };
}

class TooLong extends Error {
  override readonly name = "InvalidParameterValue"; // SQS's word for it
}
