import { describe, expect, test } from "vitest";

import { watchService } from "../../../infra/local/page/watch.ts";
import { aService } from "../a-service.ts";
import type { Answers } from "../a-service.ts";
import { job } from "../files.ts";

const message = (name: string) => ({
  MessageId: name,
  ReceiptHandle: `${name}-handle`,
  Body: JSON.stringify(job(name)),
  MessageAttributes: { reason: { StringValue: "dead_letter" }, lane: { StringValue: "bg" } },
});
const two = [message("order-1"), message("order-2")];
const fail = (what: string) => () => {
  throw new Error(what);
};

/** A page before these parked messages, and which of them it has shown again. */
function aPage(answers: Answers = {}) {
  const shown: unknown[] = [];
  const service = aService({
    ReceiveMessage: () => ({ Messages: two }),
    ChangeMessageVisibility: ({ ReceiptHandle }) => {
      shown.push(ReceiptHandle);
      return {};
    },
    ...answers,
  });
  return { watching: watchService(service), shown };
}

describe("the list of parked messages", () => {
  test("is the same for a second who looks while it is read for the first", async () => {
    const { watching } = aPage();
    const [first, second] = await Promise.all([watching.parked(), watching.parked()]);
    expect(first).toHaveLength(2);
    expect(second).toEqual(first);
  });

  test("that cannot be read is told as an error, not as empty", async () => {
    const { watching } = aPage({ ReceiveMessage: fail("no queue") });
    for (let look = 0; look < 2; look += 1) await expect(watching.parked()).rejects.toThrow("no queue");
  });
});

describe("a message that is run again", () => {
  test("is sent, and what was received beside it is shown again at once", async () => {
    const { watching, shown } = aPage();
    expect(await watching.rerun("order-2")).toBe("Job order-2 runs again as order-2~2 in bg.");
    expect(shown).toEqual(["order-1-handle"]);
  });

  test("is shown again when it could not be sent, whatever was in the way", async () => {
    const { watching, shown } = aPage({ SendMessage: fail("no queue"), SendMessageBatch: fail("no queue") });
    await expect(watching.rerun("order-2")).rejects.toThrow("no queue");
    expect(shown).toEqual(["order-1-handle", "order-2-handle"]);
  });

  test("fails by what was in the way, even when it cannot be shown again either", async () => {
    const { watching } = aPage({
      SendMessage: fail("no queue"),
      SendMessageBatch: fail("no queue"),
      ChangeMessageVisibility: fail("nothing can be shown"),
    });
    await expect(watching.rerun("order-2")).rejects.toThrow("no queue");
  });
});
