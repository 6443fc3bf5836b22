import { readFileSync } from "node:fs";
import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { powertoolsTelemetry } from "../lib/aws/telemetry.ts";
import { storeSettingsOf, storeWorld } from "../lib/aws/world.ts";
import { checkConfig } from "../lib/config.ts";
import { batchResponse } from "../lib/core/batch.ts";
import { storeReplies } from "../lib/worker/store-replies.ts";

const telemetry = powertoolsTelemetry("sluice");
const config = checkConfig(JSON.parse(readFileSync(new URL("./sluice.config.json", import.meta.url), "utf8")));
const store = { config, world: storeWorld(storeSettingsOf(process.env), telemetry) };

/** Stores what waits in the replies queue; its answer names the messages that must come again. */
export const handler = middy<SQSEvent, SQSBatchResponse>()
  .use({ after: () => telemetry.flush(), onError: () => telemetry.flush() })
  .handler(async (event, context) => {
    const endsAtMs = store.world.clock.nowMs() + context.getRemainingTimeInMillis();
    return batchResponse(await storeReplies(store, event.Records, endsAtMs));
  });
