/** Makes on local engines what the template says: its queues, tables and buckets, its functions and their mappings. */
import { CreateTableCommand, ResourceInUseException } from "@aws-sdk/client-dynamodb";
import type { CreateTableCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BucketAlreadyExists, BucketAlreadyOwnedByYou, CreateBucketCommand } from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { CreateQueueCommand, GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";

import type { Json, JsonObject } from "../../lib/core/json.ts";
import { isObject } from "../../lib/core/json.ts";
import { deadLettersVariable, lanes } from "../../lib/core/lane.ts";
import type { WatchedQueue } from "../../lib/core/overview.ts";
import { untilActive } from "./engines.ts";
import type { LocalFunction } from "./environment.ts";
import type { Mapping } from "./event-source-rules.ts";
import { rateMs } from "./schedule.ts";
import type { Synthesized } from "./synth.ts";
import { numberAt, objectAt, resolve, resourcesOf, text, textAt } from "./template.ts";
import type { Resource } from "./template.ts";

export interface Clients {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly s3: S3Client;
}

/** A function as the template has it, and the mappings that feed it. */
export interface Fed extends LocalFunction {
  readonly mappings: readonly Mapping[];
}

/** A function that is invoked by the clock. */
export interface Scheduled extends LocalFunction {
  readonly everyMs: number;
}

export interface Stack {
  /** The template's outputs, by name. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly fed: readonly Fed[];
  readonly scheduled: readonly Scheduled[];
}

const account = "000000000000";
const lambdaTimeoutS = 3;
const queueVisibilityS = 30;
const lambdaMemoryMb = 128;
const mappingBatchSize = 10;
/** Lambda's bound where a mapping names none. */
const mappingConcurrencyMax = 1_000;

/** Queues, tables and buckets that exist already are used as they are. */
export async function makeStack({ template, assets }: Synthesized, clients: Clients, region: string): Promise<Stack> {
  const resources = resourcesOf(template);
  const facts = new Map<string, Readonly<Record<string, string>>>([
    ["AWS::Region", { "": region }],
    ["AWS::AccountId", { "": account }],
    ["AWS::Partition", { "": "aws" }],
    ["AWS::StackName", { "": "Sluice" }],
    ["AWS::URLSuffix", { "": "amazonaws.com" }],
  ]);
  const lookUp = (id: string, attribute = "") => facts.get(id)?.[attribute];
  const settled = (resource: Resource): JsonObject => objectOf(resolve(resource.properties, lookUp));
  const ofType = (type: string) => resources.filter((resource) => resource.type === type);

  // A queue names its dead-letter queue, which must be there first.
  const queues = ofType("AWS::SQS::Queue").toSorted((a, b) => Number(redrives(a)) - Number(redrives(b)));
  for (const queue of queues) facts.set(queue.id, await makeQueue(queue.id, settled(queue), clients.sqs));
  for (const table of ofType("AWS::DynamoDB::Table")) {
    facts.set(table.id, await makeTable(table.id, settled(table), clients.dynamo, region));
  }
  for (const bucket of ofType("AWS::S3::Bucket")) facts.set(bucket.id, await makeBucket(bucket.id, clients.s3));

  const functions = ofType("AWS::Lambda::Function");
  for (const { id } of functions) facts.set(id, { "": id, Arn: functionArn(region, id) });
  for (const alias of ofType("AWS::Lambda::Alias")) {
    const { id } = alias;
    const { FunctionName, Name } = settled(alias);
    facts.set(id, { "": functionArn(region, `${text(FunctionName ?? id)}:${text(Name ?? "")}`) });
  }

  function functionAt(reference: string): LocalFunction {
    const name = functionNamed(reference);
    const fn = functions.find(({ id }) => id === name);
    if (fn === undefined) throw new Error(`the template invokes ${name}, and has no such function`);
    return functionOf(name, settled(fn), assets);
  }

  const mappings = Map.groupBy(ofType("AWS::Lambda::EventSourceMapping").map(settled), (mapping) =>
    functionNamed(textAt(mapping, "FunctionName")),
  );
  const fed = [...mappings].map(([name, all]): Fed => {
    return { ...functionAt(name), mappings: all.map((mapping) => mappingOf(mapping, factsByArn(facts))) };
  });
  const scheduled = ofType("AWS::Scheduler::Schedule").map((schedule): Scheduled => {
    const { Target = {}, ScheduleExpression = "" } = settled(schedule);
    return { ...functionAt(textAt(objectOf(Target), "Arn")), everyMs: rateMs(text(ScheduleExpression)) };
  });
  return { outputs: outputsOf(resolve(template["Outputs"] ?? {}, lookUp)), fed, scheduled };
}

function redrives({ properties }: Resource): boolean {
  return properties["RedrivePolicy"] !== undefined;
}

/** The properties of CloudFormation that SQS takes as attributes, and a local engine knows. */
const queueAttributes = [
  "VisibilityTimeout",
  "MessageRetentionPeriod",
  "DelaySeconds",
  "ReceiveMessageWaitTimeSeconds",
  "RedrivePolicy",
] as const;

async function makeQueue(id: string, properties: JsonObject, sqs: SQSClient) {
  const attributes = queueAttributes.flatMap((name) => {
    const value = properties[name];
    return value === undefined ? [] : [[name, text(value)] as const];
  });
  const QueueName = typeof properties["QueueName"] === "string" ? properties["QueueName"] : id;
  const { QueueUrl = "" } = await sqs.send(
    new CreateQueueCommand({ QueueName, Attributes: Object.fromEntries(attributes) }),
  );
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
  const VisibilityTimeout = String(numberAt(properties, "VisibilityTimeout", queueVisibilityS));
  return { "": QueueUrl, Arn: Attributes?.["QueueArn"] ?? "", QueueName, VisibilityTimeout };
}

async function makeTable(id: string, properties: JsonObject, dynamo: DynamoDBClient, region: string) {
  const { AttributeDefinitions, KeySchema, BillingMode, GlobalSecondaryIndexes, TableName: given } = properties;
  const TableName = typeof given === "string" ? given : id;
  // In these properties CloudFormation and the API are one.
  const input: CreateTableCommandInput = JSON.parse(
    JSON.stringify({ TableName, AttributeDefinitions, KeySchema, BillingMode, GlobalSecondaryIndexes }),
  );
  try {
    await dynamo.send(new CreateTableCommand(input));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await untilActive(dynamo, TableName);
  return { "": TableName, Arn: `arn:aws:dynamodb:${region}:${account}:table/${TableName}` };
}

async function makeBucket(id: string, s3: S3Client) {
  const name = id.toLowerCase();
  try {
    await s3.send(new CreateBucketCommand({ Bucket: name }));
  } catch (error) {
    if (!(error instanceof BucketAlreadyOwnedByYou || error instanceof BucketAlreadyExists)) throw error;
  }
  return { "": name, Arn: `arn:aws:s3:::${name}` };
}

function functionArn(region: string, name: string): string {
  return `arn:aws:lambda:${region}:${account}:function:${name}`;
}

/** A function's name out of its name or its ARN, with or without a version or an alias behind it. */
function functionNamed(reference: string): string {
  const parts = reference.split(":");
  return (reference.startsWith("arn:") ? parts[6] : parts[0]) ?? reference;
}

function functionOf(name: string, properties: JsonObject, assets: ReadonlyMap<string, string>): LocalFunction {
  const [module = "", handler = ""] = textAt(properties, "Handler").split(".");
  const directory = assets.get(textAt(objectAt(properties, "Code"), "S3Key"));
  if (directory === undefined) throw new Error(`no asset of this synthesis holds the code of ${name}`);
  const variables = Object.entries(objectAt(objectAt(properties, "Environment"), "Variables"));
  return {
    name,
    file: `${directory}/${module}.mjs`,
    handler,
    timeoutMs: numberAt(properties, "Timeout", lambdaTimeoutS) * 1_000,
    memoryMb: numberAt(properties, "MemorySize", lambdaMemoryMb),
    variables: Object.fromEntries(variables.map(([key, value]) => [key, text(value ?? null)])),
  };
}

function mappingOf(properties: JsonObject, queues: ReadonlyMap<string, Facts>): Mapping {
  const queueArn = textAt(properties, "EventSourceArn");
  const { FunctionResponseTypes } = properties;
  return {
    queueArn,
    queueUrl: queues.get(queueArn)?.[""] ?? "",
    visibilityS: Number(queues.get(queueArn)?.["VisibilityTimeout"]),
    batchSize: numberAt(properties, "BatchSize", mappingBatchSize),
    windowMs: numberAt(properties, "MaximumBatchingWindowInSeconds", 0) * 1_000,
    concurrencyMax: numberAt(objectAt(properties, "ScalingConfig"), "MaximumConcurrency", mappingConcurrencyMax),
    reportsFailures: Array.isArray(FunctionResponseTypes) && FunctionResponseTypes.includes("ReportBatchItemFailures"),
  };
}

type Facts = Readonly<Record<string, string>>;

function factsByArn(facts: ReadonlyMap<string, Facts>): ReadonlyMap<string, Facts> {
  return new Map([...facts.values()].map((fact) => [fact["Arn"] ?? "", fact]));
}

function outputsOf(outputs: Json): Record<string, string> {
  return Object.fromEntries(
    Object.entries(objectOf(outputs)).map(([name, output]) => [
      name,
      isObject(output) ? text(output["Value"] ?? null) : "",
    ]),
  );
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

/** The queues that an operator looks at; those of dead letters are told to their worker alone. */
export function depthUrlsOf({ outputs, fed }: Stack): Readonly<Partial<Record<WatchedQueue, string>>> {
  const named = [...lanes, "parked" as const, "replies" as const].flatMap((queue) => {
    const url = outputs[`${queue}QueueUrl`];
    return url === undefined ? [] : [[queue, url] as const];
  });
  const dead = lanes.flatMap((lane) => {
    const url = fed.map(({ variables }) => variables[deadLettersVariable(lane)]).find((each) => each !== undefined);
    return url === undefined ? [] : [[`${lane}-dead-letters`, url] as const];
  });
  return Object.fromEntries([...named, ...dead]);
}
