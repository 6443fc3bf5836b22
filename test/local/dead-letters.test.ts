/** What no worker of a lane ends, on engines: dead letters by their worker's own bundle, lost jobs and debts by the sweeper's. */
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, expect, test } from "vitest";

import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { noProgress } from "../../lib/core/claim.ts";
import { lanes } from "../../lib/core/lane.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { holdMs, sweepLateMs } from "../../lib/core/limits.ts";
import { a } from "../a.ts";
import { claimOn } from "../contract/job-table.ts";
import { job } from "./files.ts";
import { temporaryFolder } from "../temporary.ts";

const options = { limits: {}, bedrock: "stand-in", script: {}, logDirectory: temporaryFolder("files") } as const;
const service = await openService({ ...options, environmentsMax: 1 }, () => undefined);
afterAll(() => service.close());
const { sqs, dynamo } = service.clients;
const jobs = createJobTable(dynamo, outputOf(service, "jobTableName"), systemClock);

/** The queue that SQS puts a lane's dead letters into. */
async function deadLettersOf(lane: Lane): Promise<string> {
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl(service, lane), AttributeNames: ["RedrivePolicy"] }),
  );
  const { deadLetterTargetArn }: { deadLetterTargetArn: string } = JSON.parse(Attributes?.["RedrivePolicy"] ?? "{}");
  return queueUrl(service, lane).replace(/[^/]+$/, deadLetterTargetArn.split(":").at(-1) ?? "");
}

async function receive(QueueUrl: string): Promise<Readonly<Record<string, string | undefined>>[]> {
  const about = { MessageAttributeNames: ["All"], MaxNumberOfMessages: 10, WaitTimeSeconds: 1 };
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, ...about }));
  return Messages.map(({ Body = "", MessageAttributes = {} }) => ({
    body: Body,
    ...Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue])),
  }));
}

test(
  "a dead letter of each lane ends its job, and is parked with its reason and its lane",
  { timeout: 60_000 },
  async () => {
    for (const lane of lanes) {
      const MessageBody = JSON.stringify(job(`dead-${lane}`));
      await sqs.send(new SendMessageCommand({ QueueUrl: await deadLettersOf(lane), MessageBody }));
    }
    const ids = lanes.map((lane) => `dead-${lane}`);
    const parked: Readonly<Record<string, string | undefined>>[] = [];
    while (parked.length < lanes.length) parked.push(...(await receive(queueUrl(service, "parked"))));

    for (const row of await jobs.readMany(ids))
      expect(JSON.parse(row.reply ?? "{}")).toMatchObject({ status: "failed", error: { code: "dead_lettered" } });
    expect(parked.toSorted((x, y) => ids.indexOf(x["jobId"] ?? "") - ids.indexOf(y["jobId"] ?? ""))).toMatchObject(
      lanes.map((lane) => ({
        reason: "dead_lettered",
        lane,
        jobId: `dead-${lane}`,
        body: expect.stringContaining(lane),
      })),
    );
    expect(service.bedrockRecord()?.calls).toEqual([]);
  },
);

test("the sweeper ends a job whose message was lost, and tells who was not told", { timeout: 60_000 }, async () => {
  const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: "done" }));
  const nowMs = Date.now();
  const longAgo = { nowMs: nowMs - 2 * sweepLateMs, heldUntilMs: nowMs - 2 * sweepLateMs + holdMs };
  const lost = await jobs.claim(a.claimAsk({ jobId: "lost", ...longAgo, deadlineAtMs: nowMs - sweepLateMs - 1 }));
  if (lost.kind === "refused") throw new Error("refused");
  const stage = { stage: "requeued", stageAtMs: nowMs };
  await jobs.giveBack(claimOn(lost.row), { nowMs, notBeforeMs: nowMs, progress: noProgress, stage });
  const end = { nowMs, reply: '{"ok":true}', status: "succeeded", ttlS: nowMs / 1_000 + 9_999, progress: noProgress };
  await jobs.storeReply("untold", { ...end, contentHash: "h-1" });
  await jobs.deferAnnouncement("untold", { kind: "sqs", queueUrl: QueueUrl }, nowMs - 1);

  await service.runScheduled();
  expect(JSON.parse((await jobs.read("lost"))?.reply ?? "{}")).toMatchObject({
    status: "expired",
    error: { code: "deadline_exceeded" },
    meta: { worker: "sweeper" },
  });
  expect(await receive(QueueUrl)).toEqual([{ body: end.reply }]);
  for (const jobId of ["lost", "untold"]) expect(await jobs.read(jobId)).not.toHaveProperty("sweepAtMs");
});
