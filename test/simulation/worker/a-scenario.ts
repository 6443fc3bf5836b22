/** Builders: each scenario states the facts that differ, these supply the rest. */
import { checkConfig } from "../../../lib/config.ts";
import type { ConfigInput } from "../../../lib/config.ts";
import type { Config } from "../../../lib/core/config.ts";
import type { JsonObject } from "../../../lib/core/json.ts";
import { readReplyTo, replyToText } from "../../../lib/core/reply-to.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import { answerMark, promptMark } from "./marks.ts";
import type { Scenario, Send } from "./scenario.ts";

export const params = { messages: [{ role: "user", content: [{ text: promptMark }] }] };

export const target = (region: string, facts: object = {}) => ({
  modelId: "amazon.nova-lite-v1:0",
  region,
  limit: { start: 4, max: 4 },
  maxTokens: 1_000,
  typicalMs: 1_000,
  ...facts,
});

export function configOf(facts: Partial<ConfigInput> = {}, west: object = {}): Config {
  return checkConfig({
    models: {
      fast: { targets: { west: target("us-west-2", west), east: target("us-east-1") }, fallback: ["smart"] },
      smart: { targets: { west: target("us-west-2", { modelId: "anthropic.claude-haiku-v1:0" }) } },
    },
    paramsRef: { buckets: ["prompts"] },
    ...facts,
  } satisfies ConfigInput);
}

export function scriptOf(facts: Partial<ScriptText> = {}): ScriptText {
  const { rules = [], ...rest } = facts;
  return {
    latency: 800,
    rules: [...rules, { when: {}, do: { kind: "answer", content: [{ text: answerMark }] } }],
    ...rest,
  };
}

export function job(jobId: string, asks: JsonObject = {}, facts: Partial<Send> = {}): Send {
  const { params: asked = params, ...others } = asks;
  const replyTo = readReplyTo(asks.replyTo);
  const waits = replyTo === undefined ? {} : { waits: replyToText(replyTo) };
  const body = JSON.stringify({
    jobId,
    model: "fast",
    op: "converse",
    ...(asked === null ? {} : { params: asked }),
    ...others,
  });
  return { lane: "bg", atMs: 0, jobId, body, fates: ["succeeded"], ...waits, ...facts };
}

export function scenario(facts: Pick<Scenario, "name" | "sends"> & Partial<Scenario>): Scenario {
  return { configs: [configOf()], script: scriptOf(), concurrency: 2, ...facts };
}
