import type { Lane } from "../core/lane.ts";
import type { Clock, Hidden, Hide, Queue } from "../ports.ts";
import { sqsBatchEntriesMax, sqsHiddenSMax } from "../core/limits.ts";

/** A message as it was received, in the shape of Lambda's SQS record. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: {
    readonly SentTimestamp: string;
    readonly ApproximateReceiveCount: string;
    readonly MessageGroupId?: string;
  };
}

export interface ParkedMessage {
  readonly messageId: string;
  readonly body: string;
  readonly reason: string;
  readonly detail: string;
  readonly lane?: Lane;
  readonly jobId?: string;
}

/** A standard SQS queue in memory, with its dead letters and the parked queue. It moves with the clock that it is given. */
export interface MemoryQueue extends Queue {
  /** Answers the message id. */
  send(body: string, options?: { readonly delayS?: number; readonly tenant?: string }): string;
  /** At most ten that are visible, the oldest first; each is hidden for the queue's visibility. */
  receive(max?: number): readonly ReceivedMessage[];
  /** As SQS does, it says nothing of a handle that is no more. */
  delete(receiptHandle: string): void;
  readonly parked: readonly ParkedMessage[];
  readonly deadLetters: readonly { readonly messageId: string; readonly body: string }[];
  /** Messages that wait, that a delay or a delivery hides. */
  depth(): { readonly visible: number; readonly hidden: number };
  /** When the next hidden message becomes visible. */
  nextVisibleAtMs(): number | undefined;
}

interface Message {
  readonly messageId: string;
  readonly body: string;
  readonly sentAtMs: number;
  readonly tenant?: string;
  receives: number;
  visibleAtMs: number;
  receiptHandle: string;
  receivedAtMs: number;
}

export function createMemoryQueue(
  clock: Pick<Clock, "nowMs" | "newId">,
  { visibilityS, receivesMax = Infinity }: { readonly visibilityS: number; readonly receivesMax?: number },
): MemoryQueue {
  const messages = new Map<string, Message>();
  /** By the handle of their last receive: an older one changes nothing. */
  const inHand = new Map<string, Message>();
  const parked: ParkedMessage[] = [];
  const deadLetters: { messageId: string; body: string }[] = [];

  const isVisible = (message: Message) => message.visibleAtMs <= clock.nowMs();

  function hideOne({ messageId, receiptHandle, seconds }: Hide): Hidden {
    const failed = (name: string): Hidden => ({ kind: "failed", messageId, name });
    const message = inHand.get(receiptHandle);
    if (message === undefined) return failed("ReceiptHandleIsInvalid");
    if (isVisible(message)) return failed("InvalidParameterValue"); // SQS: not in flight any more
    const untilMs = clock.nowMs() + seconds * 1_000;
    const isAllowed =
      Number.isInteger(seconds) && seconds >= 0 && untilMs <= message.receivedAtMs + sqsHiddenSMax * 1_000;
    if (!isAllowed) return failed("InvalidParameterValue");
    message.visibleAtMs = untilMs;
    return { kind: "hidden", messageId };
  }

  return {
    parked,
    deadLetters,

    send(body, { delayS = 0, tenant } = {}) {
      const messageId = clock.newId();
      const sentAtMs = clock.nowMs();
      messages.set(messageId, {
        messageId,
        body,
        sentAtMs,
        ...(tenant === undefined ? {} : { tenant }),
        receives: 0,
        receiptHandle: "",
        receivedAtMs: sentAtMs,
        visibleAtMs: sentAtMs + delayS * 1_000,
      });
      return messageId;
    },

    receive(max = sqsBatchEntriesMax) {
      const received: ReceivedMessage[] = [];
      for (const message of messages.values()) {
        if (received.length === Math.min(max, sqsBatchEntriesMax)) break;
        if (!isVisible(message)) continue;
        const { messageId, body, sentAtMs, tenant } = message;
        if (message.receives >= receivesMax) {
          messages.delete(messageId);
          inHand.delete(message.receiptHandle);
          deadLetters.push({ messageId, body });
          continue;
        }
        const receiptHandle = clock.newId();
        inHand.delete(message.receiptHandle);
        inHand.set(receiptHandle, message);
        message.receiptHandle = receiptHandle;
        message.receives++;
        message.receivedAtMs = clock.nowMs();
        message.visibleAtMs = clock.nowMs() + visibilityS * 1_000;
        received.push({
          messageId,
          receiptHandle,
          body,
          attributes: {
            SentTimestamp: String(sentAtMs),
            ApproximateReceiveCount: String(message.receives),
            ...(tenant === undefined ? {} : { MessageGroupId: tenant }),
          },
        });
      }
      return received;
    },

    delete(receiptHandle) {
      const message = inHand.get(receiptHandle);
      if (message === undefined) return;
      messages.delete(message.messageId);
      inHand.delete(receiptHandle);
    },

    hide: async (entries) => entries.map(hideOne),

    countHidden: async () => [...inHand.values()].filter((message) => !isVisible(message)).length,

    async park({ messageId, body, lane, jobId }, reason, detail) {
      const where = { ...(lane === undefined ? {} : { lane }), ...(jobId === undefined ? {} : { jobId }) };
      parked.push({ messageId, body, reason, detail, ...where });
    },

    depth() {
      const visible = [...messages.values()].filter(isVisible).length;
      return { visible, hidden: messages.size - visible };
    },

    nextVisibleAtMs() {
      const hidden = [...messages.values()].filter((message) => !isVisible(message));
      return hidden.length === 0 ? undefined : Math.min(...hidden.map(({ visibleAtMs }) => visibleAtMs));
    },
  };
}
