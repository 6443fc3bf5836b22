import { readFileSync } from "node:fs";
import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { powertoolsTelemetry } from "../lib/aws/telemetry.ts";
import { awsWorld, identityOf, settingsOf, withOwnBucket } from "../lib/aws/world.ts";
import { checkConfig } from "../lib/config.ts";
import { batchResponse, deliveryOf } from "../lib/core/batch.ts";
import { openWorker } from "../lib/worker/open-worker.ts";
import { processBatch } from "../lib/worker/process-batch.ts";

const telemetry = powertoolsTelemetry("sluice");
const config = checkConfig(JSON.parse(readFileSync(new URL("./sluice.config.json", import.meta.url), "utf8")));
const settings = settingsOf(process.env);
const worker = openWorker(awsWorld(settings, telemetry), withOwnBucket(config, settings), identityOf(settings));

/** Runs the jobs of one lane's queue; its answer names the messages that must come again. */
export const handler = middy<SQSEvent, SQSBatchResponse>()
  .use({ after: () => telemetry.flush(), onError: () => telemetry.flush() })
  .handler(async (event, context) => {
    const nowMs = worker.world.clock.nowMs();
    const deliveries = event.Records.map((record) => deliveryOf(record, worker.lane, nowMs));
    return batchResponse(await processBatch(worker, deliveries, nowMs + context.getRemainingTimeInMillis()));
  });
