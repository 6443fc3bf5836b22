import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { workerSettingsOf } from "../../lib/aws/settings.ts";
import { awsWorld, identityOf, withOwnBucket } from "../../lib/aws/world.ts";
import { batchResponse, deliveryOf } from "../../lib/core/batch.ts";
import { openWorker } from "../../lib/worker/open-worker.ts";
import { processBatch } from "../../lib/worker/process-batch.ts";
import type { Hooks } from "../../lib/worker/hooks.ts";
import { config, open } from "../opening.ts";

/** Runs the jobs of one lane's queue; its answer names the messages that must come again. */
export function workerHandler(hooks: Hooks = {}) {
  const { telemetry, ending } = open(hooks);
  const settings = workerSettingsOf(process.env);
  const worker = openWorker(awsWorld(settings, telemetry), withOwnBucket(config, settings), identityOf(settings));

  return middy<SQSEvent, SQSBatchResponse>()
    .use(ending)
    .handler(async (event, context) => {
      const nowMs = worker.world.clock.nowMs();
      const deliveries = event.Records.map((record) => deliveryOf(record, worker.lane, nowMs));
      return batchResponse(await processBatch(worker, deliveries, nowMs + context.getRemainingTimeInMillis()));
    });
}
