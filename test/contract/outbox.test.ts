import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { createAnnouncer } from "../../lib/aws/announcer.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import { createOutbox } from "../../lib/aws/outbox.ts";
import { sqsMessageBytesMax } from "../../lib/core/limits.ts";
import { createMemoryAnnouncer } from "../../lib/memory/announcer.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryOutbox } from "../../lib/memory/outbox.ts";
import { t0 } from "../a.ts";
import { createQueue, engineForTests, localClient } from "./engines.ts";

async function onFauxqs() {
  const endpoint = await engineForTests(startFauxqs);
  const queueUrl = await createQueue(endpoint);
  const sqs = sqsClient(localClient(endpoint));
  return {
    outbox: createOutbox(sqs, queueUrl),
    announcer: createAnnouncer(() => sqs),
    queueUrl,
    nowhere: `${queueUrl}-that-is-gone`,
    received: async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      for (const { ReceiptHandle } of Messages)
        await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
      return Messages.map(({ Body }) => Body);
    },
  };
}

const openings = [
  [
    "in memory",
    async () => {
      const outbox = createMemoryOutbox(createVirtualClock(t0));
      return { outbox, received: async () => outbox.queue.receive().map(({ body }) => body) };
    },
  ],
  ["on fauxqs", onFauxqs],
] as const;

describe.each(openings)("the replies queue %s", async (_name, open) => {
  const { outbox, received } = await open();

  test("keeps what is sent, byte for byte", async () => {
    const message = ' {"reply": "ü€",\r\n\t"a":1e400 } ';
    await outbox.send(message);
    expect(await received()).toEqual([message]);
  });

  test("takes a message as big as SQS does, and no bigger", async () => {
    await outbox.send("a".repeat(sqsMessageBytesMax));
    expect((await received())[0]).toHaveLength(sqsMessageBytesMax);
    await expect(outbox.send("a".repeat(sqsMessageBytesMax + 1))).rejects.toBeInstanceOf(Error);
    expect(await received()).toEqual([]);
  });
});

describe("an announcement", async () => {
  const { announcer, queueUrl, nowhere, received } = await onFauxqs();
  const reply = '{"jobId":"j-1","ok":true,"output":"ü\uFFFF"}';

  test("to a queue is the reply", async () => {
    expect(await announcer.announce({ kind: "sqs", queueUrl }, reply)).toBe("sent");
    const [body] = await received();
    expect(JSON.parse(body ?? "")).toEqual(JSON.parse(reply));
  });

  test("to a queue that is not there fails, for somebody may make it yet", async () =>
    await expect(announcer.announce({ kind: "sqs", queueUrl: nowhere }, reply)).rejects.toBeInstanceOf(Error));

  test("goes to the region of its queue, by one client each", async () => {
    const asked: (string | undefined)[] = [];
    const silent = sqsClient({ region: "us-west-2" });
    silent.middlewareStack.add(() => async () => ({ response: {}, output: { $metadata: {} } }));
    const watched = createAnnouncer((region) => {
      asked.push(region);
      return silent;
    });
    const urls = [
      "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
      "https://sqs.eu-west-1.amazonaws.com/123456789012/r",
      "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q",
      queueUrl,
    ];
    for (const url of urls) await watched.announce({ kind: "sqs", queueUrl: url }, reply);
    expect(asked).toEqual(["eu-west-1", "cn-north-1", undefined]);
  });

  test("in memory is kept, in order", async () => {
    const memory = createMemoryAnnouncer();
    const to = { kind: "sqs", queueUrl } as const;
    expect(await memory.announce(to, reply)).toBe("sent");
    expect(memory.sent).toEqual([{ to, reply }]);
  });
});
