import { errorName } from "../core/error-name.ts";
import { crowdedDelayMsMax, crowdLookMs, hiddenMessagesMax } from "../core/limits.ts";
import type { World } from "../ports.ts";

/**
 * Whether the queue has so many messages in flight that SQS might give out no more. Who hides none for long need not
 * know: it is looked at beside a long hiding, at most once a minute, and the next ones go by it.
 */
export class Crowd {
  readonly #world: Pick<World, "clock" | "queue" | "telemetry">;
  #lookedAtMs = -Infinity;
  #isCrowded = false;

  constructor(world: Pick<World, "clock" | "queue" | "telemetry">) {
    this.#world = world;
  }

  /** For the rules of hiding. */
  get facts(): { readonly crowded?: true } {
    return this.#isCrowded ? { crowded: true } : {};
  }

  /** A message is being hidden that long. Never throws: what is not known is as it was. */
  async onHiding(seconds: number): Promise<void> {
    const { clock, queue, telemetry } = this.#world;
    const isShort = seconds * 1_000 <= crowdedDelayMsMax && !this.#isCrowded;
    if (isShort || clock.nowMs() < this.#lookedAtMs + crowdLookMs) return;
    this.#lookedAtMs = clock.nowMs();
    try {
      const hidden = await queue.countHidden();
      this.#isCrowded = hidden > hiddenMessagesMax;
      if (this.#isCrowded) telemetry.note({ kind: "crowded", hidden });
    } catch (error) {
      telemetry.note({ kind: "trouble", what: "count the hidden messages", error: errorName(error) });
    }
  }
}
