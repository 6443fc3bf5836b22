/** `yours`: go on. `closed`: the bell has rung, nobody begins any more. */
export type Turn = "yours" | "closed";

/**
 * Who may run when: records of jobs that never crashed at once, those of a job that crashed once after them, those that
 * crashed more often alone. A poison job can so take others down with it twice: those beside it, and those of them that
 * run beside it again after their first crash.
 */
export class Turns {
  #busy = 0;
  #closed = false;
  readonly #afterwards: ((turn: Turn) => void)[] = [];
  readonly #alone: ((turn: Turn) => void)[] = [];

  /** A record begins its work. */
  enter(): void {
    this.#busy += 1;
  }

  /** A record has settled. Whoever entered must leave, whatever happens. */
  leave(): void {
    this.#busy -= 1;
    this.#admit();
  }

  /** Resolves when no fresh record is at work any more, or when the signal fires: then whoever waited only ends. */
  afterTheFresh(signal: AbortSignal): Promise<Turn> {
    return this.#wait(this.#afterwards, signal);
  }

  /** Resolves when nothing else is at work; one at a time; or when the signal fires, as above. */
  alone(signal: AbortSignal): Promise<Turn> {
    return this.#wait(this.#alone, signal);
  }

  /** Sends everybody home who still waits. */
  close(): void {
    this.#closed = true;
    this.#admit();
  }

  #wait(line: ((turn: Turn) => void)[], signal?: AbortSignal): Promise<Turn> {
    return new Promise((resolve) => {
      line.push(resolve);
      const goes = () => {
        const place = line.indexOf(resolve);
        if (place >= 0) this.#call(line.splice(place, 1), "yours");
      };
      signal?.addEventListener("abort", goes, { once: true });
      this.leave();
      if (signal?.aborted === true) goes();
    });
  }

  #admit(): void {
    const all = [this.#afterwards, this.#alone];
    if (this.#closed)
      return this.#call(
        all.flatMap((line) => line.splice(0)),
        "closed",
      );
    if (this.#busy > 0) return;
    this.#call(this.#afterwards.length > 0 ? this.#afterwards.splice(0) : this.#alone.splice(0, 1), "yours");
  }

  #call(line: readonly ((turn: Turn) => void)[], turn: Turn): void {
    this.#busy += line.length;
    for (const admit of line) admit(turn);
  }
}
