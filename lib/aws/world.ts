import { createHash } from "node:crypto";
import type { Config } from "../core/config.ts";
import type { Lane } from "../core/lane.ts";
import { isLane, lanes } from "../core/lane.ts";
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

/** What the stack tells a worker function by its environment. */
export interface Settings {
  readonly lane: Lane;
  readonly queueUrl: string;
  readonly parkedQueueUrl: string;
  readonly repliesQueueUrl: string;
  readonly jobTable: string;
  readonly leaseTable: string;
  readonly bucket: string;
  readonly workerVersion: string;
}

/** @throws Error that names the variable, when one is missing or unreadable. */
export function settingsOf(env: Readonly<Record<string, string | undefined>>): Settings {
  const need = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === "") throw new Error(`${name} is not set; the stack sets it on the function`);
    return value;
  };
  const lane = need("SLUICE_LANE");
  if (!isLane(lane)) throw new Error(`SLUICE_LANE is none of ${lanes.join(", ")}`);
  return {
    lane,
    queueUrl: need("SLUICE_QUEUE_URL"),
    parkedQueueUrl: need("SLUICE_PARKED_QUEUE_URL"),
    repliesQueueUrl: need("SLUICE_REPLIES_QUEUE_URL"),
    jobTable: need("SLUICE_JOB_TABLE"),
    leaseTable: need("SLUICE_LEASE_TABLE"),
    bucket: need("SLUICE_BUCKET"),
    workerVersion: env["AWS_LAMBDA_FUNCTION_VERSION"] ?? "local",
  };
}

/** The World on AWS. Clients are made, and nobody is asked. */
export function awsWorld(settings: Settings, telemetry: Telemetry): World {
  const dynamo = dynamoClient();
  const sqs = sqsClient();
  return {
    clock: systemClock,
    jobs: createJobTable(dynamo, settings.jobTable, systemClock),
    leases: createLeaseTable(dynamo, settings.leaseTable),
    queue: createQueue(sqs, settings),
    models: bedrockModels(),
    objects: createObjects(s3Client(), settings.bucket),
    outbox: createOutbox(sqs, settings.repliesQueueUrl),
    announcer: createAnnouncer((region) => (region === undefined ? sqs : sqsClient({ region }))),
    telemetry,
  };
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
