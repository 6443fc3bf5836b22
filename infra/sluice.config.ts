import { defineConfig } from "../lib/config.ts";

// Ids, context windows and output ceilings: the model cards of the Bedrock user guide,
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-cards.html. Prices: https://aws.amazon.com/bedrock/pricing,
// on demand, standard tier, US regions, November 2026; Claude costs a tenth more by a regional profile than by the global
// one, and Nova asks a quarter for what it reads from its cache. The limits are guesses to begin with: an account's quotas differ, and a limit is learned within them.
const novaLite = {
  modelId: "us.amazon.nova-lite-v1:0",
  limit: { start: 20, max: 60 },
  contextWindow: 300_000,
  maxTokens: 4_096,
  typicalMs: 3_000,
  price: { inputPerMTok: 0.06, outputPerMTok: 0.24, cacheReadPerMTok: 0.015 },
};

const claudeHaiku = {
  modelId: "us.anthropic.claude-haiku-4-5-20251001-v1:0",
  limit: { start: 10, max: 30 },
  contextWindow: 200_000,
  maxTokens: 8_192,
  typicalMs: 6_000,
  price: { inputPerMTok: 1.1, outputPerMTok: 5.5, cacheReadPerMTok: 0.11, cacheWritePerMTok: 1.375 },
};

export default defineConfig({
  models: {
    "fast-text": {
      targets: {
        "us-west-2": { ...novaLite, region: "us-west-2" },
        "us-east-1": { ...novaLite, region: "us-east-1" },
      },
      fallback: ["smart-text"],
    },
    "smart-text": {
      targets: {
        "us-west-2": { ...claudeHaiku, region: "us-west-2" },
        "us-east-1": { ...claudeHaiku, region: "us-east-1" },
      },
    },
  },
});
