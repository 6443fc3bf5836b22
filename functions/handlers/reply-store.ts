import middy from "@middy/core";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { storeSettingsOf } from "../../lib/aws/settings.ts";
import { storeWorld } from "../../lib/aws/world.ts";
import { batchResponse } from "../../lib/core/batch.ts";
import { storeReplies } from "../../lib/worker/store-replies.ts";
import type { Hooks } from "../../lib/worker/hooks.ts";
import { config, open } from "../opening.ts";

/** Stores what waits in the replies queue; its answer names the messages that must come again. */
export function replyStoreHandler(hooks: Hooks = {}) {
  const { telemetry, ending } = open(hooks);
  const store = { config, world: storeWorld(storeSettingsOf(process.env), telemetry) };

  return middy<SQSEvent, SQSBatchResponse>()
    .use(ending)
    .handler(async (event, context) => {
      const endsAtMs = store.world.clock.nowMs() + context.getRemainingTimeInMillis();
      return batchResponse(await storeReplies(store, event.Records, endsAtMs));
    });
}
