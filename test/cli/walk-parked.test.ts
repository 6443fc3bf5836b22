import { describe, expect, test } from "vitest";

import { walkChosen } from "../../lib/cli/walk-parked.ts";
import type { Chosen, Walked } from "../../lib/cli/walk-parked.ts";
import type { ParkedQueue } from "../../lib/client/parked-queue.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryQueue } from "../../lib/memory/queue.ts";
import { t0 } from "../a.ts";

/** A parked queue of so many messages, every second one a poison. */
function aParkedQueue(count: number) {
  const clock = createVirtualClock(t0);
  const messages = createMemoryQueue(clock, { visibilityS: 120 });
  for (let place = 0; place < count; place += 1) messages.send(place % 2 === 0 ? "poison" : "refused");
  const queue: ParkedQueue = {
    async receive(_hiddenS, waitS) {
      const received = messages.receive();
      if (received.length === 0) await clock.sleep(waitS * 1_000);
      return received.map(({ messageId, receiptHandle, body }) => {
        return { id: messageId, messageId, receiptHandle, body, reason: body, detail: "", parkedAtMs: t0 };
      });
    },
    async show(receiptHandle) {
      await messages.hide([{ messageId: "", receiptHandle, seconds: 0 }]);
    },
    async remove(receiptHandle) {
      messages.delete(receiptHandle);
    },
  };
  const interrupted = new AbortController();
  const walk = async (chosen: Chosen, act: (walked: Walked) => Promise<boolean>) => {
    let end: string | undefined;
    void walkChosen(queue, chosen, interrupted.signal, act).then((how) => (end = how));
    await clock.runUntil(() => end !== undefined);
    return end;
  };
  return { clock, messages, interrupted, walk };
}

const all: Chosen = { ids: [] };

describe("a walk over parked messages", () => {
  test("comes by each once, though it takes so long that the first ones are seen again before the last", async () => {
    const { clock, messages, walk } = aParkedQueue(60);
    const walked: string[] = [];
    const end = await walk(all, async ({ message }) => {
      walked.push(message.id);
      await clock.sleep(7_000);
      return true;
    });
    expect([end, walked.length, new Set(walked).size]).toEqual(["whole", 60, 60]);
    expect(messages.depth()).toEqual({ visible: 60, hidden: 0 });
  });

  test("takes those away that were chosen, and shows the others again", async () => {
    const { messages, walk } = aParkedQueue(25);
    const end = await walk({ ids: [], reason: "poison" }, async ({ remove }) => {
      await remove();
      return true;
    });
    expect([end, messages.depth()]).toEqual(["whole", { visible: 12, hidden: 0 }]);
  });

  test("says that it was interrupted: what it has seen is not all there is", async () => {
    const { messages, interrupted, walk } = aParkedQueue(25);
    let acted = 0;
    const end = await walk(all, async () => {
      acted += 1;
      if (acted === 3) interrupted.abort();
      return true;
    });
    expect([end, acted, messages.depth()]).toEqual(["interrupted", 3, { visible: 25, hidden: 0 }]);
  });

  test("ends where whoever walks has enough", async () => {
    const { messages, walk } = aParkedQueue(25);
    expect([await walk(all, async () => false), messages.depth()]).toEqual(["enough", { visible: 25, hidden: 0 }]);
  });
});
