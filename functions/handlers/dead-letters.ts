import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { deadLetterSettingsOf } from "../../lib/aws/settings.ts";
import { awsWorld, identityOf, withOwnBucket } from "../../lib/aws/world.ts";
import { batchResponse, deliveryOf } from "../../lib/core/batch.ts";
import { processDeadLetters } from "../../lib/worker/dead-letters.ts";
import type { Worker } from "../../lib/worker/invocation.ts";
import { openWorker } from "../../lib/worker/open-worker.ts";
import type { Hooks } from "../../lib/worker/hooks.ts";
import { config, open } from "../opening.ts";

/** Ends the jobs that SQS gave up; its answer names the messages that must come again. */
export function deadLettersHandler(hooks: Hooks = {}) {
  const { telemetry, ending } = open(hooks);
  /** One for each dead-letter queue; each hides messages in its own. */
  const workers = new Map<string, Worker>();

  function workerOn(queueArn: string): Worker {
    const known = workers.get(queueArn);
    if (known !== undefined) return known;
    const settings = deadLetterSettingsOf(process.env, queueArn);
    const worker = openWorker(awsWorld(settings, telemetry), withOwnBucket(config, settings), identityOf(settings));
    workers.set(queueArn, worker);
    return worker;
  }

  return middy<SQSEvent, SQSBatchResponse>()
    .use(ending)
    .handler(async (event, context) => {
      const [first] = event.Records;
      if (first === undefined) return batchResponse([]);
      const worker = workerOn(first.eventSourceARN); // one event holds messages of one queue
      const nowMs = worker.world.clock.nowMs();
      const deliveries = event.Records.map((record) => deliveryOf(record, worker.lane, nowMs));
      return batchResponse(await processDeadLetters(worker, deliveries, nowMs + context.getRemainingTimeInMillis()));
    });
}
