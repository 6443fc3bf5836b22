/** A service without engines: what AWS answers is said by the test. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";

import type { Service } from "../../infra/local/service.ts";
import config from "../../infra/sluice.config.ts";
import { checkConfig } from "../../lib/config.ts";
import { isObject } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";

const where = { region: "us-west-2", credentials: { accessKeyId: "local", secretAccessKey: "local" } };
const queues = ["rtQueueUrl", "bgQueueUrl", "bulkQueueUrl", "parkedQueueUrl"];
const outputs = [...queues, "jobTableName", "leaseTableName", "repliesBucketName"];

/** What a command is answered, by its name. */
export type Answers = Readonly<Record<string, (input: JsonObject) => object>>;

/** Every queue takes everything, every table is empty, no worker answers; outputs are their own names. */
const calm: Answers = {
  SendMessageBatch: ({ Entries }) => ({
    Successful: [Entries].flat().flatMap((entry) => (isObject(entry) ? [{ Id: entry["Id"] }] : [])),
  }),
  BatchGetItem: () => ({ Responses: {} }),
};

export function aService(answers: Answers = {}): Service {
  const all = { ...calm, ...answers };
  const clients = { sqs: new SQSClient(where), dynamo: new DynamoDBClient(where), s3: new S3Client(where) };
  const answer = async (commandName = "", input: object) => ({
    response: {},
    output: { $metadata: {}, ...all[commandName.replace(/Command$/, "")]?.({ ...input }) },
  });
  const first = { step: "initialize" } as const;
  clients.sqs.middlewareStack.add(
    (_next, { commandName }) =>
      ({ input }) =>
        answer(commandName, input),
    first,
  );
  clients.dynamo.middlewareStack.add(
    (_next, { commandName }) =>
      ({ input }) =>
        answer(commandName, input),
    first,
  );
  return {
    config: checkConfig(config),
    outputs: Object.fromEntries(outputs.map((name) => [name, name])),
    clients,
    depthUrls: {},
    bedrockRecord: () => undefined,
    stats: () => ({ started: 0, died: 0, invocations: 0, rssBytesMax: 0 }),
    running: () => [],
    runScheduled: async () => {},
    messagesHeld: () => 0,
    killOne: async () => false,
    close: async () => {},
  };
}
