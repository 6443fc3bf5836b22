/** The way of a reply beside the job table, on engines: the replies queue, and the reply-store's own bundle. */
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { messagesParked, reasonsParked } from "../../infra/local/leftovers.ts";
import { openService, outputOf } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { createOutbox } from "../../lib/aws/outbox.ts";
import { noProgress } from "../../lib/core/claim.ts";
import { encodeUnstored } from "../../lib/core/outbox.ts";
import { replyOf, replyText } from "../../lib/core/reply.ts";
import { a } from "../a.ts";
import { temporaryFolder } from "../temporary.ts";

test(
  "the reply-store puts what waits in the replies queue into the job table, and parks what is no reply",
  { timeout: 60_000 },
  async ({ onTestFinished }) => {
    const options = { limits: {}, bedrock: "stand-in", script: {}, logDirectory: temporaryFolder("files") } as const;
    const service = await openService({ ...options, environmentsMax: 1 }, () => undefined);
    onTestFinished(() => service.close());
    const { clients } = service;
    const queueUrl = outputOf(service, "repliesQueueUrl");
    const jobs = createJobTable(clients.dynamo, outputOf(service, "jobTableName"), systemClock);

    const reply = replyText(
      replyOf({ jobId: "j-1", metadata: {} }, { kind: "succeeded", output: { text: "Grüße, Ada" } }, a.meta()),
    );
    const unstored = { jobId: "j-1", contentHash: "h-1", status: "succeeded", reply, progress: noProgress } as const;
    await createOutbox(clients.sqs, queueUrl).send(encodeUnstored(unstored));
    await clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: "torn" }));

    while ((await jobs.read("j-1"))?.reply === undefined || (await messagesParked(service)) === 0) await sleep(50);
    expect(await jobs.read("j-1")).toMatchObject({ reply, state: "ended", contentHash: "h-1" });
    expect(await reasonsParked(service)).toEqual(["not_a_reply"]);
  },
);
