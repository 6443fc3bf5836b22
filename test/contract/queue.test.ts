import { describe, expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import { createQueue } from "../../lib/aws/queue.ts";
import { sqsHiddenSMax, sqsMessageBytesMax } from "../../lib/core/limits.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryQueue } from "../../lib/memory/queue.ts";
import { t0 } from "../a.ts";
import { engineForTests, localClient } from "./engines.ts";
import { queues, receivesMax, visibilityS } from "./queue.ts";
import type { Received } from "./queue.ts";

const hideFor = (seconds: number) => (message: Received) => ({ ...message, seconds });

describe.each(queues)("the queue %s", async (name, open) => {
  async function opened(bodies: readonly string[] = []) {
    const bench = await open();
    for (const body of bodies) await bench.send(body);
    bench.sent();
    return bench;
  }
  test("hands each message to one receiver, and again when it was not removed", async () => {
    const { queue, receive, remove } = await opened(["a", "b"]);
    const [first, second] = await receive();
    expect([first?.body, second?.body]).toEqual(["a", "b"]);
    expect(first?.receives).toBe(1);
    expect(await receive()).toEqual([]);
    await remove(second?.receiptHandle ?? "");
    await queue.hide([first].flatMap((message) => (message === undefined ? [] : hideFor(0)(message))));
    expect(await receive()).toMatchObject([{ body: "a", messageId: first?.messageId, receives: 2 }]);
  });

  test("hides a message for as long as it is told", async () => {
    const { queue, receive, pass } = await opened(["a"]);
    const messages = await receive();
    expect(await queue.hide(messages.map(hideFor(1)))).toEqual([{ kind: "hidden", messageId: messages[0]?.messageId }]);
    expect(await receive()).toEqual([]);
    await pass(1_050);
    expect(await receive()).toMatchObject([{ body: "a" }]);
  });

  test("brings every character as it was sent, those of two halves too", async () => {
    const body = '{"text":"Hi Ada 👋🏽, 𝛼 \u{10FFFF} ü€"}';
    const { queue, receive, parked } = await opened([body]);
    expect(await receive()).toMatchObject([{ body }]);
    await queue.park({ messageId: "m-1", body }, "invalid_envelope", "no 👋");
    expect(await parked()).toMatchObject([{ body, attributes: { detail: "no 👋" } }]);
  });

  test("delays a message that is sent with a delay", async () => {
    const { send, receive, pass } = await opened();
    await send("later", 1);
    expect(await receive()).toEqual([]);
    await pass(1_050);
    expect(await receive()).toMatchObject([{ body: "later" }]);
  });

  test("ends with the dead letters what was received too often", async () => {
    const { queue, receive } = await opened(["a"]);
    for (let receives = 1; receives <= receivesMax; receives++) {
      const messages = await receive();
      expect(messages).toMatchObject([{ receives }]);
      await queue.hide(messages.map(hideFor(0)));
    }
    expect(await receive()).toEqual([]);
  });

  test("counts what is hidden or in hand", async () => {
    const { queue, receive, remove } = await opened(["a", "b", "c"]);
    expect(await queue.countHidden()).toBe(0);
    const messages = await receive();
    expect(await queue.countHidden()).toBe(3);
    await remove(messages[0]?.receiptHandle ?? "");
    await queue.hide(messages.slice(1, 2).map(hideFor(0)));
    expect(await queue.countHidden()).toBe(1);
  });

  test("tells of each entry how it went, in their order", async () => {
    const { queue, receive } = await opened(["a", "b"]);
    const [first, second] = (await receive()).map(hideFor(9));
    if (first === undefined || second === undefined) throw new Error("two messages were sent");
    const wrong = { ...second, messageId: "wrong", receiptHandle: "no-such-handle" };
    const outcomes = await queue.hide([first, wrong, second]);
    expect(outcomes.map(({ messageId }) => messageId)).toEqual([first.messageId, "wrong", second.messageId]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["hidden", "failed", "hidden"]);
  });

  // The one in memory sends nothing.
  test.skipIf(name === "in memory")("is told of ten at a time, and of nothing without a call", async () => {
    const { queue, receive, sent } = await opened(Array.from({ length: 21 }, (_, index) => `${index}`));
    expect(await queue.hide([])).toEqual([]);
    expect(sent()).toEqual([]);
    const messages = [...(await receive()), ...(await receive()), ...(await receive())];
    expect(messages).toHaveLength(21);
    sent();
    const outcomes = await queue.hide(messages.map(hideFor(60)));
    expect(outcomes).toEqual(messages.map(({ messageId }) => ({ kind: "hidden", messageId })));
    expect(sent()).toEqual(Array.from({ length: 3 }, () => "ChangeMessageVisibilityBatch"));
  });

  describe("parks", () => {
    test("the body byte for byte, with its reason", async () => {
      const { queue, parked } = await opened();
      const body = ' {"jobId": "ü€",\r\n\t"a":1e400 } ';
      await queue.park({ messageId: "m-1", body }, "invalid_envelope", "field `op` is not one of converse");
      expect(await parked()).toEqual([
        {
          body,
          attributes: { reason: "invalid_envelope", messageId: "m-1", detail: "field `op` is not one of converse" },
        },
      ]);
    });

    test("says where the message belongs, as far as that is known", async () => {
      const { queue, parked } = await opened();
      const known = { lane: "bulk", jobId: "order-8812-summary" } as const;
      await queue.park({ messageId: "m-1", body: "{}", ...known }, "dead_lettered", "received 200 times");
      expect((await parked())[0]?.attributes).toMatchObject({ reason: "dead_lettered", ...known });
    });
  });
});

test.each([
  ["half of a character", "a\uD83D"],
  ["two halves the wrong way round", "\uDC4B\uD83D"],
  ["a control character", "a\u0000"],
])("SQS refuses %s", async (_says, body) => {
  const { send } = (await queues[1]?.[1]()) ?? {};
  await expect(send?.(body)).rejects.toMatchObject({ name: expect.stringMatching(/InvalidMessageContents$/) });
});

describe("parking on SQS", async () => {
  const { queue, parked } = (await queues[1]?.[1]()) ?? {};
  if (queue === undefined || parked === undefined) throw new Error("the queue on fauxqs is gone");
  const room = sqsMessageBytesMax - Buffer.byteLength("reasonStringnot_an_envelopemessageIdStringm-1");

  test("leaves out a detail that is empty, and what SQS takes in no message", async () => {
    await queue.park({ messageId: "m-1", body: "a" }, "not_an_envelope", "");
    await queue.park({ messageId: "m-1", body: "b" }, "not_an_envelope", "no\u0000 \uD83D good");
    expect((await parked()).map(({ attributes }) => attributes["detail"])).toEqual([undefined, "no  \uFFFD good"]);
  });

  const rows: [says: string, bytes: number, attributes: object][] = [
    ["cuts the detail to what has room, never in the middle of a character", room - 20, { detail: "€€" }],
    ["keeps the reason where only that has room", room, { reason: "not_an_envelope", messageId: "m-1" }],
    ["keeps the body where nothing else has room", sqsMessageBytesMax, {}],
  ];
  test.each(rows)("%s", async (_says, bytes, attributes) => {
    const body = "a".repeat(bytes);
    await queue.park({ messageId: "m-1", body }, "not_an_envelope", "€".repeat(100));
    const [message] = await parked();
    expect(message?.body === body).toBe(true);
    expect(message?.attributes).toMatchObject(attributes);
    expect(Object.keys(message?.attributes ?? {})).toHaveLength(
      "detail" in attributes ? 3 : Object.keys(attributes).length,
    );
  });
});

test("a call that fails is the failure of its entries, and of no other's", async () => {
  const endpoint = await engineForTests(startFauxqs);
  const queueUrl = `${endpoint}/000000000000/nobody's`;
  const queue = createQueue(sqsClient(localClient(endpoint)), { queueUrl, parkedQueueUrl: queueUrl });
  const [outcome] = await queue.hide([{ messageId: "m-1", receiptHandle: "r-1", seconds: 1 }]);
  expect(outcome).toMatchObject({ kind: "failed", messageId: "m-1" });
});

function received() {
  const clock = createVirtualClock(t0);
  const queue = createMemoryQueue(clock, { visibilityS });
  queue.send("a");
  const [message] = queue.receive();
  if (message === undefined) throw new Error("a message was sent");
  return { clock, queue, message };
}

/** fauxqs takes what SQS refuses; these rules are AWS's, kept by the queue in memory alone. */
describe("the queue in memory, like SQS,", () => {
  test("hides no message longer than 12 hours from its receive, all in all", async () => {
    const { clock, queue, message } = received();
    await clock.advance(10_000);
    const [tooLong] = await queue.hide([{ ...message, seconds: sqsHiddenSMax - 9 }]);
    expect(tooLong).toEqual({ kind: "failed", messageId: message.messageId, name: "InvalidParameterValue" });
    const [longest] = await queue.hide([{ ...message, seconds: sqsHiddenSMax - 10 }]);
    expect(longest?.kind).toBe("hidden");
  });

  test("refuses fractions of a second and times before now", async () => {
    const { queue, message } = received();
    const outcomes = await queue.hide([0.5, -1, Number.NaN].map((seconds) => ({ ...message, seconds })));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "failed", "failed"]);
  });

  test("hides no message that is visible again, and takes no handle of an earlier receive", async () => {
    const { clock, queue, message } = received();
    await clock.advance(visibilityS * 1_000);
    expect(queue.depth()).toEqual({ visible: 1, hidden: 0 });
    expect((await queue.hide([{ ...message, seconds: 5 }]))[0]?.kind).toBe("failed");
    queue.receive();
    expect((await queue.hide([{ ...message, seconds: 5 }]))[0]?.kind).toBe("failed");
    queue.delete(message.receiptHandle);
    expect(queue.depth()).toEqual({ visible: 0, hidden: 1 });
  });

  test("tells when the next message becomes visible", async () => {
    const { clock, queue, message } = received();
    expect(queue.nextVisibleAtMs()).toBe(t0 + visibilityS * 1_000);
    await queue.hide([{ ...message, seconds: 5 }]);
    expect(queue.nextVisibleAtMs()).toBe(t0 + 5_000);
    await clock.advance(5_000);
    expect(queue.nextVisibleAtMs()).toBeUndefined();
  });
});
