import type { Config } from "../core/config.ts";
import { paramsPrefix } from "../core/limits.ts";
import type { Telemetry, World } from "../ports.ts";
import { createAnnouncer } from "./announcer.ts";
import { bedrockModels } from "./bedrock.ts";
import { s3Client, sqsClient, workersDynamoClient } from "./clients.ts";
import { systemClock } from "./clock.ts";
import { digest } from "./digest.ts";
import { createJobTable } from "./job-table.ts";
import { createLeaseTable } from "./lease-table.ts";
import { createObjects } from "./objects.ts";
import { createOutbox } from "./outbox.ts";
import { createQueue } from "./queue.ts";
import type { StoreSettings, SweeperSettings, WorkerSettings } from "./settings.ts";

/** Clients are made, and nobody is asked. */
function clients() {
  return { dynamo: workersDynamoClient(), sqs: sqsClient() };
}

/** All that the sweeper needs of AWS. */
export function sweeperWorld({ jobTable }: SweeperSettings, telemetry: Telemetry, { dynamo, sqs } = clients()) {
  return {
    clock: systemClock,
    jobs: createJobTable(dynamo, jobTable, systemClock),
    announcer: createAnnouncer((region) => (region === undefined ? sqs : sqsClient({ region }))),
    telemetry,
  };
}

/** All that the reply-store needs: the same, with a queue and a bucket. */
export function storeWorld(settings: StoreSettings, telemetry: Telemetry, on = clients()) {
  return {
    ...sweeperWorld(settings, telemetry, on),
    queue: createQueue(on.sqs, settings),
    objects: createObjects(s3Client(), settings.bucket),
  };
}

/** The World, whole. */
export function awsWorld(settings: WorkerSettings, telemetry: Telemetry): World {
  const on = clients();
  return {
    ...storeWorld(settings, telemetry, on),
    leases: createLeaseTable(on.dynamo, settings.leaseTable),
    models: bedrockModels(),
    outbox: createOutbox(on.sqs, settings.repliesQueueUrl),
  };
}

/** Big params that a client sends lie in the stack's own bucket, whose name no config can know before the deploy. */
export function withOwnBucket(config: Config, { bucket }: Pick<StoreSettings, "bucket">): Config {
  return { ...config, paramsRef: { buckets: [...config.paramsRef.buckets, `${bucket}/${paramsPrefix}`] } };
}

/** Who this container is; contents are named by their SHA-256. */
export function identityOf({ lane, workerVersion }: WorkerSettings) {
  return {
    lane,
    name: `${lane}-${systemClock.newId()}`,
    version: workerVersion,
    digest,
  };
}
