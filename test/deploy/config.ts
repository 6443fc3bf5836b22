/** The config of the service as it is tried. */
import type { ConfigInput } from "../../lib/config.ts";
import { limited } from "../../infra/local/synth.ts";
import written from "../../infra/sluice.config.ts";
import { deadModel, heldModel, here, namesIn, tokensMax } from "./place.ts";
import type { Place } from "./place.ts";

/**
 * Bedrock's cheapest text model, by the profile of the US regions. Prices: https://aws.amazon.com/bedrock/pricing, on
 * demand, November 2026.
 */
export const cheapModel = {
  modelId: "us.amazon.nova-micro-v1:0",
  limit: { start: 5, max: 5 },
  contextWindow: 128_000,
  maxTokens: tokensMax,
  typicalMs: 1_000,
  price: { inputPerMTok: 0.035, outputPerMTok: 0.14 },
};

export function configIn(place: Place): ConfigInput {
  const { announcedUrl, bus, bucketOfJobs, topicArn } = namesIn(place);
  const only = { targets: { [here]: { ...cheapModel, region: place.region } } };
  // The app's own stack, in its next version: another limit, and models beside its own.
  const base =
    place.stack === "Sluice" ? limited(written, { "fast-text@us-west-2": 7 }) : { models: { "fast-text": only } };
  return {
    ...base,
    models: { ...base.models, [heldModel]: only, [deadModel]: only },
    replies: {
      allow: {
        sqs: [announcedUrl],
        eventBuses: [bus],
        sns: [topicArn("announced")],
        taskTokens: true,
      },
    },
    paramsRef: { buckets: [bucketOfJobs] },
  };
}
