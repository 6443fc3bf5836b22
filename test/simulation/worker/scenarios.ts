import { checkConfig } from "../../../lib/config.ts";
import type { ConfigInput } from "../../../lib/config.ts";
import type { Config } from "../../../lib/core/config.ts";
import type { JsonObject } from "../../../lib/core/json.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import type { Scenario, Send } from "./scenario.ts";

/** They stand in every prompt and every answer, and nowhere else. */
export const promptMark = "the-prompt-is-nobodys-business";
export const answerMark = "nor-is-the-answer";

const params = { messages: [{ role: "user", content: [{ text: promptMark }] }] };

const target = (region: string, facts: object = {}) => ({
  modelId: "amazon.nova-lite-v1:0",
  region,
  limit: { start: 4, max: 4 },
  maxTokens: 1_000,
  typicalMs: 1_000,
  ...facts,
});

function configOf(facts: Partial<ConfigInput> = {}, west: object = {}): Config {
  return checkConfig({
    models: {
      fast: { targets: { west: target("us-west-2", west), east: target("us-east-1") }, fallback: ["smart"] },
      smart: { targets: { west: target("us-west-2", { modelId: "anthropic.claude-haiku-v1:0" }) } },
    },
    paramsRef: { buckets: ["prompts"] },
    ...facts,
  } satisfies ConfigInput);
}

function scriptOf(facts: Partial<ScriptText> = {}): ScriptText {
  const { rules = [], ...rest } = facts;
  return {
    latency: 800,
    rules: [...rules, { when: {}, do: { kind: "answer", content: [{ text: answerMark }] } }],
    ...rest,
  };
}

function job(jobId: string, asks: JsonObject = {}, facts: Partial<Send> = {}): Send {
  const body = JSON.stringify({ jobId, model: "fast", op: "converse", params, ...asks });
  return { lane: "bg", atMs: 0, jobId, body, fates: ["succeeded"], ...facts };
}

function scenario(facts: Pick<Scenario, "name" | "sends"> & Partial<Scenario>): Scenario {
  return { configs: [configOf()], script: scriptOf(), concurrency: 2, ...facts };
}

export const scenarios: readonly Scenario[] = [
  scenario({ name: "one job somebody waits for", sends: [job("j-1", {}, { lane: "rt" })] }),
];
