import type { Clock } from "../ports.ts";
import { Timers } from "./timers.ts";
import type { Timer } from "./timers.ts";

/** A clock that stands still until it is told to go on. The same seed gives the same dice and ids. */
export interface VirtualClock extends Clock {
  /** Moves on by `ms`, firing each timer at its time; what a timer sets going has settled before the next one fires. */
  advance(ms: number): Promise<void>;
  /** From timer to timer until `done` holds; throws when no timer is left, because then it never would. */
  runUntil(done: () => boolean): Promise<void>;
  /** When the next timer fires. */
  nextAtMs(): number | undefined;
}

export function createVirtualClock(startMs: number, seed = 1): VirtualClock {
  let nowMs = startMs;
  let ids = 0;
  const timers = new Timers();
  const dice = createDice(seed);

  async function fireNext(timer: Timer): Promise<void> {
    timer.cancel();
    nowMs = Math.max(nowMs, timer.atMs);
    timer.fire();
    await settled();
  }

  function after(ms: number, fire: () => void): () => void {
    return timers.add(nowMs + Math.max(0, ms), fire).cancel;
  }

  return {
    nowMs: () => nowMs,
    after,

    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const end = () => {
          cancel();
          signal?.removeEventListener("abort", end);
          resolve();
        };
        const cancel = after(ms, end);
        signal?.addEventListener("abort", end);
      });
    },

    jitter: dice,

    newId() {
      // Seven characters count, so no id comes twice; five are thrown, so that ids do not sort by age.
      const thrown = Array.from({ length: 5 }, () => letter(Math.floor(dice() * 64)));
      const counted = Array.from({ length: 7 }, (_, place) => letter(Math.floor(ids / 64 ** place) % 64));
      ids++;
      return [...thrown, ...counted].join("");
    },

    async advance(ms) {
      const untilMs = nowMs + ms;
      await settled();
      for (let timer = timers.next(); timer !== undefined && timer.atMs <= untilMs; timer = timers.next())
        await fireNext(timer);
      nowMs = untilMs;
    },

    async runUntil(done) {
      await settled();
      while (!done()) {
        const timer = timers.next();
        if (timer === undefined) throw new Error("no timer is left, and what was waited for has not come");
        await fireNext(timer);
      }
    },

    nextAtMs: () => timers.next()?.atMs,
  };
}

/** The real one: a test runner's fake timers put theirs in its place, and would wait for somebody to move them on. */
const comesRound = setImmediate;

/** Every promise that can settle without a timer has settled when the event loop comes round. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    comesRound(resolve);
  });
}

function letter(index: number): string {
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".charAt(index);
}

/** mulberry32: 32 bits of state are plenty for a test, and the same on every machine. */
export function createDice(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
