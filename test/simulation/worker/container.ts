import type { VirtualClock } from "../../../lib/memory/clock.ts";
import type { Clock } from "../../../lib/ports.ts";

/** What a dead container's code waits for. */
export const never = new Promise<never>(() => undefined);

/** A sandbox: it can stand still and it can die, and its clock is wrong by a little. */
export class Container {
  readonly name: string;
  readonly clock: Clock;
  readonly #true: VirtualClock;
  readonly #death = new AbortController();
  readonly #timers = new Set<{ readonly setAtMs: number }>();
  #frozenUntilMs = -Infinity;

  constructor(name: string, trueClock: VirtualClock, skewMs: number) {
    this.name = name;
    this.#true = trueClock;
    this.clock = {
      ...trueClock,
      // Whole ms, as a machine's clock answers.
      nowMs: () => Math.floor(trueClock.nowMs()) + skewMs,
      after: (ms, fire) => this.#after(ms, fire),
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  get isDead(): boolean {
    return this.#death.signal.aborted;
  }

  /** Fires when its connections break. */
  get death(): AbortSignal {
    return this.#death.signal;
  }

  get isFrozen(): boolean {
    return this.#true.nowMs() < this.#frozenUntilMs;
  }

  get frozenUntilMs(): number {
    return this.#frozenUntilMs;
  }

  /** Timers that were set since then and have neither fired nor been cancelled. */
  timersSince(ms: number): number {
    return [...this.#timers].filter(({ setAtMs }) => setAtMs >= ms).length;
  }

  freeze(ms: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#true.nowMs() + ms);
  }

  crash(): void {
    this.#death.abort("the container died");
  }

  /** The client of a request: it goes when the signal fires, or with its container. */
  clientOf(signal: AbortSignal): { readonly signal: AbortSignal; close(): void } {
    const gone = new AbortController();
    const sources = [signal, this.death];
    const leave = () => gone.abort(signal.reason ?? this.death.reason);
    if (sources.some(({ aborted }) => aborted)) leave();
    for (const source of sources) source.addEventListener("abort", leave);
    return {
      signal: gone.signal,
      close: () => {
        for (const source of sources) source.removeEventListener("abort", leave);
      },
    };
  }

  /** Resolves when its code may go on: at once, after a thaw, or never. */
  async awake(): Promise<void> {
    while (this.isFrozen && !this.isDead) await this.#true.sleep(this.#frozenUntilMs - this.#true.nowMs());
    if (this.isDead) await never;
  }

  #after(ms: number, fire: () => void): () => void {
    const timer = { setAtMs: this.#true.nowMs() };
    let cancel: (() => void) | undefined;
    const due = () => {
      if (this.isDead) return;
      // What was due while all stood still fires at the thaw.
      if (this.isFrozen) cancel = this.#true.after(this.#frozenUntilMs - this.#true.nowMs(), due);
      else if (this.#timers.delete(timer)) fire();
    };
    this.#timers.add(timer);
    cancel = this.#true.after(ms, due);
    return () => {
      this.#timers.delete(timer);
      cancel?.();
    };
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const end = () => {
        cancel();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.#after(ms, end);
      signal?.addEventListener("abort", end);
    });
  }
}
