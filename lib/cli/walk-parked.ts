import type { ParkedMessage, ParkedQueue } from "../client/parked-queue.ts";

/** What is looked at is hidden for so long at most, should this process die; else until the walk ends. */
const hiddenS = 120;
const waitS = 1;
/** SQS asks some of its machines alone: one that has nothing proves nothing. */
const emptyLooks = 2;

export interface Walked {
  readonly message: ParkedMessage;
  /** Takes it out of the queue for good. */
  readonly remove: () => Promise<void>;
}

/** The messages of the parked queue, each once; those that are not removed are shown again when the walk ends. */
export async function* walkParked(queue: ParkedQueue, signal: AbortSignal): AsyncGenerator<Walked, void> {
  const seen = new Set<string>();
  const held = new Map<string, string>();
  try {
    for (let empty = 0; empty < emptyLooks && !signal.aborted;) {
      const messages = await queue.receive(hiddenS, waitS);
      for (const { id, receiptHandle } of messages) held.set(id, receiptHandle);
      const fresh = messages.filter(({ id }) => !seen.has(id));
      // One that comes a second time has waited its two minutes out: the walk has been around.
      empty = fresh.length === 0 ? empty + 1 : 0;
      for (const message of fresh) {
        if (signal.aborted) return;
        seen.add(message.id);
        const remove = async () => {
          await queue.remove(message.receiptHandle);
          held.delete(message.id);
        };
        yield { message, remove };
      }
    }
  } finally {
    // A handle may have lapsed meanwhile: then it is seen again anyway.
    await Promise.allSettled([...held.values()].map((receiptHandle) => queue.show(receiptHandle)));
  }
}
