import type { Clock } from "../../../lib/ports.ts";

/** What is read once for all who look at the same time, and kept for a while. */
export interface Kept<Value> {
  /** Of a read that has not grown old, or that is under way, and began after the last `forget`. */
  get(): Promise<Value>;
  /** Something was changed: what was read, or is being read, shows what was before. */
  forget(): void;
}

/** An error is kept no longer: whatever was in the way may be gone. */
const failedMsMax = 1_000;

/** `ageMsMax`: how long a value is good that took so long to read. */
export function keep<Value>(
  read: () => Promise<Value>,
  ageMsMax: (tookMs: number) => number,
  clock: Pick<Clock, "nowMs">,
): Kept<Value> {
  let last: { readonly value: Promise<Value>; untilMs: number } | undefined;

  function begin(): Promise<Value> {
    const startedAtMs = clock.nowMs();
    const begun = { value: read(), untilMs: Infinity };
    const ended = (msMax: number) => {
      // Of a read that was forgotten meanwhile nobody asks any more.
      begun.untilMs = clock.nowMs() + Math.min(msMax, ageMsMax(clock.nowMs() - startedAtMs));
    };
    begun.value.then(
      () => ended(Infinity),
      () => ended(failedMsMax),
    );
    last = begun;
    return begun.value;
  }

  return {
    get: () => (last !== undefined && clock.nowMs() < last.untilMs ? last.value : begin()),
    forget() {
      last = undefined;
    },
  };
}
