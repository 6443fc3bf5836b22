import { describe, expect, test } from "vitest";

import { systemClock } from "../../lib/aws/clock.ts";
import { sideBySide } from "../../lib/operate/side-by-side.ts";

const never = new AbortController().signal;
/** Goes on until its signal fires, and says so. */
const untilTold = (log: string[]) => async (signal: AbortSignal) => {
  await systemClock.sleep(60_000, signal);
  log.push("ended");
};
const fail = async () => {
  throw new Error("the queue is gone");
};

describe("work that goes on side by side", () => {
  test("is over when all of it is", async () => {
    const log: string[] = [];
    const work = async () => void log.push("done");
    await sideBySide(never, [work, work]);
    expect(log).toEqual(["done", "done"]);
  });

  test("ends with the first that fails, whose error is told once the others have ended", async () => {
    const log: string[] = [];
    await expect(sideBySide(never, [untilTold(log), fail, untilTold(log)])).rejects.toThrow("the queue is gone");
    expect(log).toEqual(["ended", "ended"]);
  });

  test("tells the first error, not what ending the others has brought", async () => {
    const breaksOff = async (signal: AbortSignal) => {
      await systemClock.sleep(60_000, signal);
      throw new Error("broken off");
    };
    await expect(sideBySide(never, [breaksOff, fail])).rejects.toThrow("the queue is gone");
  });

  test("ends without an error when whoever asked for it has had enough", async () => {
    const log: string[] = [];
    const asked = new AbortController();
    const over = sideBySide(asked.signal, [untilTold(log)]);
    asked.abort();
    await over;
    expect(log).toEqual(["ended"]);
  });
});
