import { errorName } from "../core/error-name.ts";
import type { Delivery } from "../core/job.ts";
import { hideBeyondHoldMs, holdMs } from "../core/limits.ts";
import type { Queue, Telemetry, World } from "../ports.ts";
import type { Crowd } from "./crowd.ts";

/**
 * Every ChangeMessageVisibility of one invocation. A hiding waits for the heartbeats' calls that are under way: none of
 * them may land behind the delay of a requeue and undo it. Nothing waits for the hiding of another message.
 */
export class Visibility {
  readonly #queue: Queue;
  readonly #telemetry: Telemetry;
  readonly #crowd: Crowd;
  readonly #settled = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  #held: Promise<unknown> = Promise.resolve();

  constructor({ queue, telemetry }: Pick<World, "queue" | "telemetry">, crowd: Crowd) {
    this.#queue = queue;
    this.#telemetry = telemetry;
    this.#crowd = crowd;
  }

  /** Hides what is still running for as long as a claim holds. A failed entry is tried again by the next beat. */
  hold(deliveries: readonly Delivery[]): Promise<void> {
    const running = deliveries.filter(({ messageId }) => !this.#settled.has(messageId));
    const holding = this.#track(this.#hide(running, (holdMs + hideBeyondHoldMs) / 1_000));
    this.#held = Promise.all([this.#held, holding]);
    return holding;
  }

  /** Hides a settled message; from here on the heartbeat leaves it alone. */
  hide(delivery: Delivery, seconds: number): Promise<void> {
    this.#settled.add(delivery.messageId);
    void this.#track(this.#crowd.onHiding(seconds));
    return this.#track(this.#held.then(() => this.#hide([delivery], seconds)));
  }

  /** The record has settled without a hiding. */
  forget(delivery: Delivery): void {
    this.#settled.add(delivery.messageId);
  }

  /** Resolves when no call is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #track(call: Promise<void>): Promise<void> {
    this.#underWay.add(call);
    return call.finally(() => this.#underWay.delete(call));
  }

  async #hide(deliveries: readonly Delivery[], seconds: number): Promise<void> {
    if (deliveries.length === 0) return;
    try {
      const entries = deliveries.map(({ messageId, receiptHandle }) => ({ messageId, receiptHandle, seconds }));
      for (const hidden of await this.#queue.hide(entries))
        if (hidden.kind === "failed") this.#note(hidden.name, hidden.messageId);
    } catch (error) {
      // The last visibility brings the message back, and `notBefore` in its row hides it again.
      this.#note(errorName(error));
    }
  }

  #note(error: string, messageId?: string): void {
    this.#telemetry.note({
      kind: "trouble",
      what: "ChangeMessageVisibility",
      error,
      ...(messageId === undefined ? {} : { messageId }),
    });
  }
}
