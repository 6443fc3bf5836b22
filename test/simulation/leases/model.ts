import type { Clock } from "../../../lib/ports.ts";
import { exponential, lognormal } from "./dice.ts";

const answerMsMean = 5_000;
const answerSigma = 0.5;
const throttleMsMean = 100;
const longerMsMax = 60_000;

/** A model that takes so many requests at once, and throttles what comes above. */
export class Model {
  readonly #clock: Clock;
  readonly #dice: () => number;
  readonly #inFlightMax: () => number;
  readonly #late: number;
  #inFlight = 0;

  constructor(clock: Clock, dice: () => number, inFlightMax: () => number, late: number) {
    this.#clock = clock;
    this.#dice = dice;
    this.#inFlightMax = inFlightMax;
    this.#late = late;
  }

  /** Ends early when the signal fires. */
  async ask(signal: AbortSignal): Promise<"answered" | "throttled"> {
    if (this.#inFlight >= this.#inFlightMax()) {
      await this.#clock.sleep(exponential(this.#dice, throttleMsMean), signal);
      return "throttled";
    }
    this.#inFlight += 1;
    const longerMs = this.#dice() < this.#late ? this.#dice() * longerMsMax : 0;
    await this.#clock.sleep(lognormal(this.#dice, answerMsMean, answerSigma) + longerMs, signal);
    this.#inFlight -= 1;
    return "answered";
  }
}
