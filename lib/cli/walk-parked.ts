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
    // One that comes a second time has waited its two minutes out, while others may still wait for their first look: the
    // walk has been around when as many have come again in a row as there are.
    for (let [empty, again] = [0, 0]; empty < emptyLooks && again <= seen.size && !signal.aborted;) {
      const messages = await queue.receive(hiddenS, waitS);
      for (const { id, receiptHandle } of messages) held.set(id, receiptHandle);
      const fresh = messages.filter(({ id }) => !seen.has(id));
      empty = messages.length === 0 ? empty + 1 : 0;
      again = fresh.length === 0 ? again + messages.length : 0;
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

/** By jobId or message id, by reason, or without either: every one. */
export interface Chosen {
  readonly ids: readonly string[];
  readonly reason?: string | undefined;
}

export type WalkEnd =
  /** There were no more. */
  | "whole"
  /** `act` has said false. */
  | "enough"
  /** The signal fired: nobody knows what else there is. */
  | "interrupted";

/** Of a message's id so much is shown on a terminal. */
export const idShown = 8;

/** Acts on each message that was chosen, one after the other, until `act` says false. */
export async function walkChosen(
  queue: ParkedQueue,
  { ids, reason }: Chosen,
  signal: AbortSignal,
  act: (walked: Walked) => Promise<boolean>,
): Promise<WalkEnd> {
  for await (const walked of walkParked(queue, signal)) {
    const { message } = walked;
    const isNamed = ids.length === 0 || ids.some((name) => isItsName(name, message));
    if (isNamed && (reason === undefined || reason === message.reason) && !(await act(walked))) return "enough";
  }
  return signal.aborted ? "interrupted" : "whole";
}

/** A message's id may be cut, as the list shows it on a terminal. */
function isItsName(name: string, { id, messageId, jobId }: ParkedMessage): boolean {
  return name === jobId || name === messageId || (name.length >= idShown && id.startsWith(name));
}
