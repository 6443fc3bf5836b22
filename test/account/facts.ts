/**
 * What Sluice takes for granted of AWS and no engine shows in full: each is looked at on the real services. Each throws,
 * with what was seen instead.
 */
import { CountTokensCommand } from "@aws-sdk/client-bedrock-runtime";
import type { BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";
import { ConditionalCheckFailedException, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  StartMessageMoveTaskCommand,
} from "@aws-sdk/client-sqs";
import type { Message, SendMessageCommandInput, SQSClient } from "@aws-sdk/client-sqs";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { usDestinations } from "../../infra/model-access.ts";
import { pageKey } from "../../lib/aws/lease-rows.ts";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import { leasesPerPage, sqsHiddenSMax } from "../../lib/core/limits.ts";
import { query } from "../deploy/call.ts";
import type { Caller } from "../deploy/call.ts";

/** Where facts are looked for. The queues are nobody's but theirs. */
export interface Ground {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly events: EventBridgeClient;
  readonly bedrock: BedrockRuntimeClient;
  readonly aws: Caller;
  readonly stack: string;
  readonly leaseTable: string;
  readonly factsQueueUrl: string;
  /** Its dead-letter queue. */
  readonly factsDeadQueueUrl: string;
  /** A queue that is neither. */
  readonly strangerQueueUrl: string;
  /** An inference profile of the US regions. */
  readonly profileId: string;
  /** A model that counts tokens. */
  readonly countedModelId: string;
  /** How long a message may take to arrive. */
  readonly arrivalMsMax: number;
}

export interface Fact {
  /** By which it is named on a command line. */
  readonly name: string;
  readonly says: string;
  readonly run: (on: Ground) => Promise<void>;
}

export const facts: readonly Fact[] = [
  {
    name: "row-on-refusal",
    says: "a refused conditional write answers with the row that refused",
    async run({ dynamo, leaseTable: TableName }) {
      const Item = { pk: { S: `fact-${randomUUID()}` }, seen: { N: "1" } };
      await dynamo.send(new PutItemCommand({ TableName, Item }));
      const refused = await dynamo
        .send(
          new UpdateItemCommand({
            TableName,
            Key: { pk: Item.pk },
            UpdateExpression: "SET seen = :next",
            ConditionExpression: "seen = :next",
            ExpressionAttributeValues: { ":next": { N: "2" } },
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          }),
        )
        .then(() => assert.fail("the write was not refused"), whatWasThrown);
      assert(refused instanceof ConditionalCheckFailedException, String(refused));
      assert.deepEqual(refused.Item, Item);
    },
  },
  {
    name: "page-write",
    says: `a write to a page of ${leasesPerPage} leases costs one write unit`,
    run: ({ dynamo, leaseTable }) => pageCostsOneUnit(dynamo, leaseTable, leasesPerPage),
  },
  {
    name: "twelve-hours",
    says: "SQS refuses to hide a message for longer than 12 hours in all, and does not shorten it",
    async run({ sqs, arrivalMsMax, factsQueueUrl: QueueUrl }) {
      const { ReceiptHandle } = await sentAndReceived(sqs, QueueUrl, arrivalMsMax);
      await sleep(2_000);
      const hide = (VisibilityTimeout: number) =>
        sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
      await isRefused(hide(sqsHiddenSMax), "to hide it for 12 hours more");
      await hide(sqsHiddenSMax - 60);
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    },
  },
  {
    name: "fair-queues",
    says: "a standard queue takes a group for each message, and tells it to whoever receives",
    async run({ sqs, arrivalMsMax, factsQueueUrl: QueueUrl }) {
      const message = await sentAndReceived(sqs, QueueUrl, arrivalMsMax, { MessageGroupId: "acme" });
      assert.equal(message.Attributes?.MessageGroupId, "acme");
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
    },
  },
  {
    name: "redrive-allow",
    says: "a dead-letter queue that allows one source by its ARN turns another away",
    async run({ sqs, factsQueueUrl, factsDeadQueueUrl, strangerQueueUrl }) {
      const [source, dead] = await attributesOfBoth(sqs, factsQueueUrl, factsDeadQueueUrl);
      assert.deepEqual(parseJson(dead["RedriveAllowPolicy"] ?? ""), {
        redrivePermission: "byQueue",
        sourceQueueArns: [source["QueueArn"]],
      });
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead["QueueArn"], maxReceiveCount: 5 });
      const strangers = new SetQueueAttributesCommand({ QueueUrl: strangerQueueUrl, Attributes: { RedrivePolicy } });
      await isRefused(sqs.send(strangers), "to be the dead-letter queue of a queue that it does not allow");
    },
  },
  {
    name: "move-task",
    says: "messages of a dead-letter queue are moved back by one task",
    async run({ sqs, arrivalMsMax, factsQueueUrl, factsDeadQueueUrl }) {
      const [source, dead] = await attributesOfBoth(sqs, factsQueueUrl, factsDeadQueueUrl);
      const body = randomUUID();
      await sqs.send(new SendMessageCommand({ QueueUrl: factsDeadQueueUrl, MessageBody: body }));
      const task = { SourceArn: dead["QueueArn"], DestinationArn: source["QueueArn"] };
      await sqs.send(new StartMessageMoveTaskCommand(task));
      const { ReceiptHandle } = await received(sqs, factsQueueUrl, body, arrivalMsMax);
      await sqs.send(new DeleteMessageCommand({ QueueUrl: factsQueueUrl, ReceiptHandle }));
    },
  },
  {
    name: "missing-bus",
    says: "an event for a bus that does not exist is taken all the same, and lost: a config that names one is not told of it",
    async run({ events, stack }) {
      const entry = { EventBusName: `${stack}-nowhere`, Source: "sluice", DetailType: "Fact", Detail: "{}" };
      const { FailedEntryCount, Entries = [] } = await events.send(new PutEventsCommand({ Entries: [entry] }));
      assert.equal(FailedEntryCount, 0, `it was refused: ${Entries[0]?.ErrorCode}`);
      assert.notEqual(Entries[0]?.EventId ?? "", "", "it has no id");
    },
  },
  {
    name: "insights-alarms",
    says: "CloudWatch takes alarms of a query that groups by model and target, and can evaluate them",
    async run({ aws, stack }) {
      const asked = { Action: "DescribeAlarms", Version: "2010-08-01", AlarmNamePrefix: stack, MaxRecords: "100" };
      const xml = await query(aws, "monitoring", asked);
      const queries = xml.match(/<Expression>SELECT [^<]*GROUP BY[^<]*</g) ?? [];
      assert(
        queries.length >= 2,
        `${queries.length} alarms have such a query, of ${xml.match(/<AlarmArn>/g)?.length ?? 0}`,
      );
      const failed = xml.match(/<EvaluationState>EVALUATION_(?:ERROR|FAILURE)</g) ?? [];
      assert.equal(failed.length, 0, `${failed.length} alarms cannot be evaluated`);
    },
  },
  {
    name: "inference-profile",
    says: "an inference profile of the US routes to the regions that the functions may call, and to no other",
    async run({ aws, profileId }) {
      const path = `/inference-profiles/${encodeURIComponent(profileId)}`;
      const answer = parseJson(await aws.send({ service: "bedrock", method: "GET", path }));
      const models = isObject(answer) && Array.isArray(answer["models"]) ? answer["models"] : [];
      const regions = models.map((model) =>
        isObject(model) && typeof model["modelArn"] === "string" ? model["modelArn"].split(":")[3] : "",
      );
      assert.notEqual(regions.length, 0, "it names no model");
      const beyond = regions.filter((region) => region === undefined || !usDestinations.includes(region));
      assert.deepEqual(beyond, [], `${profileId} routes there too; add them in infra/model-access.ts`);
    },
  },
  {
    name: "count-tokens",
    says: "Bedrock counts a prompt's tokens, asked by the model's bare id",
    async run({ bedrock, countedModelId: modelId }) {
      const input = { converse: { messages: [{ role: "user" as const, content: [{ text: "Say hello to Ada." }] }] } };
      const { inputTokens = 0 } = await bedrock.send(new CountTokensCommand({ modelId, input }));
      assert(inputTokens > 0, `it counted ${inputTokens}`);
    },
  },
];

/** A page as workers fill it, then one write more. */
export async function pageCostsOneUnit(dynamo: DynamoDBClient, TableName: string, leases: number): Promise<void> {
  const table = createLeaseTable(dynamo, TableName);
  const ref = { ledger: `a-model-with-a-long-name@${randomUUID().slice(0, 13)}`, page: 0 };
  const ids = Array.from({ length: leases }, (_, place) => `lease-${String(place).padStart(6, "0")}`);
  const untilMs = Date.now() + 30_000;
  await table.createPage(ref);
  for (let taken = 0; taken < leases; taken += 10) {
    const { kind } = await table.take(ref, ids.slice(taken, taken + 10), leases, untilMs);
    assert.equal(kind, "taken");
  }
  const { ConsumedCapacity } = await dynamo.send(
    new UpdateItemCommand({
      TableName,
      Key: { pk: { S: pageKey(ref) } },
      UpdateExpression: "SET l.#last = :until",
      ExpressionAttributeNames: { "#last": ids.at(-1) ?? "" },
      ExpressionAttributeValues: { ":until": { N: String(untilMs + 1) } },
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  assert.equal(ConsumedCapacity?.CapacityUnits, 1);
}

async function attributesOf(sqs: SQSClient, QueueUrl: string): Promise<Readonly<Record<string, string>>> {
  const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  return { ...Attributes };
}

/** Of a queue and of its dead-letter queue. */
function attributesOfBoth(sqs: SQSClient, queueUrl: string, deadQueueUrl: string) {
  return Promise.all([attributesOf(sqs, queueUrl), attributesOf(sqs, deadQueueUrl)]);
}

async function sentAndReceived(
  sqs: SQSClient,
  QueueUrl: string,
  msMax: number,
  more: Partial<SendMessageCommandInput> = {},
): Promise<Message> {
  const MessageBody = randomUUID();
  await sqs.send(new SendMessageCommand({ ...more, QueueUrl, MessageBody }));
  return await received(sqs, QueueUrl, MessageBody, msMax);
}

/** Others in the queue are shown again at once. */
async function received(sqs: SQSClient, QueueUrl: string, body: string, msMax: number): Promise<Message> {
  const untilMs = Date.now() + msMax;
  while (Date.now() < untilMs) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 1,
        VisibilityTimeout: 60,
        WaitTimeSeconds: 1,
        MessageSystemAttributeNames: ["All"],
      }),
    );
    for (const message of Messages) {
      if (message.Body === body) return message;
      const { ReceiptHandle } = message;
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    }
  }
  return assert.fail(`the message did not arrive within ${msMax / 1_000} s`);
}

/** For its content: whoever lacks the right to ask learns nothing. */
async function isRefused(asked: Promise<unknown>, what: string): Promise<void> {
  const error = await asked.then(() => assert.fail(`SQS did not refuse ${what}`), whatWasThrown);
  if (error instanceof assert.AssertionError) throw error;
  const { $fault, name } = Object(error);
  assert.equal($fault, "client", String(error));
  assert.doesNotMatch(String(name), /Access|Denied|Unknown|Unsupported|InvalidAction|NotExist/, String(error));
}

function whatWasThrown(error: unknown): unknown {
  return error;
}
