import { randomBytes } from "node:crypto";
import type { Clock } from "../ports.ts";

/** Node fires a longer timer at once. */
const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),

  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      // Whichever comes first takes the other away: nothing may outlive the invocation.
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, timerMsMax));
      signal?.addEventListener("abort", end);
    });
  },

  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(ms, timerMsMax));
    return () => {
      clearTimeout(timer);
    };
  },

  jitter: () => Math.random(),
  newId: () => randomBytes(9).toString("base64url"),
};
