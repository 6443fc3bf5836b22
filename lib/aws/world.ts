import { createHash } from "node:crypto";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SQSClient } from "@aws-sdk/client-sqs";
import type { Config } from "../core/config.ts";
import type { Lane } from "../core/lane.ts";
import { deadLettersVariable, isLane, lanes } from "../core/lane.ts";
import { paramsPrefix } from "../core/limits.ts";
import type { Telemetry, World } from "../ports.ts";
import { createAnnouncer } from "./announcer.ts";
import { bedrockModels } from "./bedrock.ts";
import { dynamoClient, s3Client, sqsClient } from "./clients.ts";
import { systemClock } from "./clock.ts";
import { createJobTable } from "./job-table.ts";
import { createLeaseTable } from "./lease-table.ts";
import { createObjects } from "./objects.ts";
import { createOutbox } from "./outbox.ts";
import { createQueue } from "./queue.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What the stack tells every function by its environment. `queueUrl`: of the queue that feeds it. */
export interface StoreSettings {
  readonly queueUrl: string;
  readonly parkedQueueUrl: string;
  readonly jobTable: string;
  readonly bucket: string;
}

/** What it tells a worker beside that. */
export interface Settings extends StoreSettings {
  readonly lane: Lane;
  readonly repliesQueueUrl: string;
  readonly leaseTable: string;
  readonly workerVersion: string;
}

/** @throws Error that names the variable, when one is missing. */
export function storeSettingsOf(env: Environment): StoreSettings {
  return {
    queueUrl: need(env, "SLUICE_QUEUE_URL"),
    parkedQueueUrl: need(env, "SLUICE_PARKED_QUEUE_URL"),
    jobTable: need(env, "SLUICE_JOB_TABLE"),
    bucket: need(env, "SLUICE_BUCKET"),
  };
}

/** @throws Error that names the variable, when one is missing or unreadable. */
export function settingsOf(env: Environment): Settings {
  const lane = need(env, "SLUICE_LANE");
  if (!isLane(lane)) throw new Error(`SLUICE_LANE is none of ${lanes.join(", ")}`);
  return {
    ...storeSettingsOf(env),
    lane,
    repliesQueueUrl: need(env, "SLUICE_REPLIES_QUEUE_URL"),
    leaseTable: need(env, "SLUICE_LEASE_TABLE"),
    workerVersion: env["AWS_LAMBDA_FUNCTION_VERSION"] ?? "local",
  };
}

/**
 * What a worker is told, for one that empties the dead-letter queue of this ARN: the stack names each lane's.
 * @throws Error for any other queue.
 */
export function deadLetterSettingsOf(env: Environment, queueArn: string): Settings {
  const lane = lanes.find((each) => nameIn(env[deadLettersVariable(each)], "/") === nameIn(queueArn, ":"));
  if (lane === undefined) throw new Error("a message came by a queue that is no lane's dead-letter queue");
  return settingsOf({ ...env, SLUICE_LANE: lane, SLUICE_QUEUE_URL: env[deadLettersVariable(lane)] });
}

/** The last part of a queue's URL, or of its ARN. */
function nameIn(place: string | undefined, separator: "/" | ":"): string | undefined {
  return place?.split(separator).at(-1);
}

/** What the sweeper is told. */
export interface SweepSettings {
  readonly jobTable: string;
  readonly version: string;
}

/** @throws Error that names the variable, when one is missing. */
export function sweepSettingsOf(env: Environment): SweepSettings {
  return { jobTable: need(env, "SLUICE_JOB_TABLE"), version: env["AWS_LAMBDA_FUNCTION_VERSION"] ?? "local" };
}

function need(env: Environment, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set; the stack sets it on the function`);
  return value;
}

/** What a function can do on AWS that asks no model. Clients are made, and nobody is asked. */
export function storeWorld(settings: StoreSettings, telemetry: Telemetry) {
  return storeWorldOn(dynamoClient(), sqsClient(), settings, telemetry);
}

/** All that the sweeper needs. */
export function sweepWorld({ jobTable }: SweepSettings, telemetry: Telemetry) {
  return {
    clock: systemClock,
    jobs: createJobTable(dynamoClient(), jobTable, systemClock),
    announcer: announcerOn(sqsClient()),
    telemetry,
  };
}

/** The World on AWS, whole. */
export function awsWorld(settings: Settings, telemetry: Telemetry): World {
  const dynamo = dynamoClient();
  const sqs = sqsClient();
  return {
    ...storeWorldOn(dynamo, sqs, settings, telemetry),
    leases: createLeaseTable(dynamo, settings.leaseTable),
    models: bedrockModels(),
    outbox: createOutbox(sqs, settings.repliesQueueUrl),
  };
}

function storeWorldOn(dynamo: DynamoDBClient, sqs: SQSClient, settings: StoreSettings, telemetry: Telemetry) {
  return {
    clock: systemClock,
    jobs: createJobTable(dynamo, settings.jobTable, systemClock),
    queue: createQueue(sqs, settings),
    objects: createObjects(s3Client(), settings.bucket),
    announcer: announcerOn(sqs),
    telemetry,
  };
}

function announcerOn(sqs: SQSClient) {
  return createAnnouncer((region) => (region === undefined ? sqs : sqsClient({ region })));
}

/** Big params that a client sends lie in the stack's own bucket, whose name no config can know before the deploy. */
export function withOwnBucket(config: Config, { bucket }: Pick<Settings, "bucket">): Config {
  return { ...config, paramsRef: { buckets: [...config.paramsRef.buckets, `${bucket}/${paramsPrefix}`] } };
}

/** Who this container is; contents are named by their SHA-256. */
export function identityOf({ lane, workerVersion }: Settings) {
  return {
    lane,
    name: `${lane}-${systemClock.newId()}`,
    version: workerVersion,
    digest: (text: string): string => createHash("sha256").update(text).digest("hex"),
  };
}
