import { errorName } from "../core/error-name.ts";
import { storeMsMax, storeRetryMs } from "../core/limits.ts";
import { lastTry } from "./in-time.ts";
import type { Run } from "./run.ts";

/** A write is tried until it is answered: every 0.5 s for 5 s, or until the bell, and then once more. */
export async function insist<T>(
  { invocation }: Run,
  act: () => Promise<T>,
  failed: (error: string) => void,
): Promise<T | undefined> {
  const { clock } = invocation.worker.world;
  const triedUntilMs = clock.nowMs() + storeMsMax;
  for (;;) {
    const isLast = invocation.bellHasRung;
    try {
      return await lastTry(invocation, act);
    } catch (error) {
      failed(errorName(error));
      const isOver = invocation.bellHasRung ? isLast : clock.nowMs() + storeRetryMs > triedUntilMs;
      if (isOver) return undefined;
      await clock.sleep(storeRetryMs);
    }
  }
}
