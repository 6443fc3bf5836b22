import { ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import { createQueueDepths } from "../../lib/aws/queue-depths.ts";
import { createQueue, engineForTests, localClient } from "./engines.ts";

test("each queue is as long as SQS says, what is in a worker's hands apart", async () => {
  const endpoint = await engineForTests(startFauxqs);
  const sqs = sqsClient(localClient(endpoint));
  const [bg, parked] = [await createQueue(endpoint), await createQueue(endpoint)];
  for (const body of ["one", "two", "three"]) {
    await sqs.send(new SendMessageCommand({ QueueUrl: bg, MessageBody: body }));
  }
  await sqs.send(new ReceiveMessageCommand({ QueueUrl: bg, MaxNumberOfMessages: 1 }));
  expect(await createQueueDepths(sqs, { bg, parked }).read()).toEqual({
    bg: { visible: 2, hidden: 1 },
    parked: { visible: 0, hidden: 0 },
  });
});

test("a queue that is not there is the caller's to tell of", async () => {
  const sqs = sqsClient(localClient(await engineForTests(startFauxqs)));
  const gone = createQueueDepths(sqs, { bg: "http://127.0.0.1:1/000000000000/gone" });
  await expect(gone.read()).rejects.toThrow(/queue/i);
});
