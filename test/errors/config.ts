import { checkConfig } from "../../lib/config.ts";
import type { Entry, Group } from "./entry.ts";
import { thrownBy } from "./entry.ts";

const place = {
  modelId: "us.amazon.nova-lite-v1:0",
  region: "us-west-2",
  limit: { start: 20, max: 60 },
  contextWindow: 300_000,
  maxTokens: 4_096,
};
const { contextWindow: _contextWindow, ...unwindowed } = place;
const models = { "fast-text": { targets: { "us-west-2": place } } };
const ownProfile = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/hq2of259skzs";
const imported = "arn:aws:bedrock:us-west-2:123456789012:imported-model/a1b2c3";

const at = (facts: object) => ({ models: { "fast-text": { targets: { "us-west-2": { ...place, ...facts } } } } });
const chained = (fallback: unknown) => ({ models: { "fast-text": { ...models["fast-text"], fallback } } });
const stopped = (fallbackOn: unknown) => ({ models: { "fast-text": { ...models["fast-text"], fallbackOn } } });
const allowing = (allow: object) => ({ models, replies: { allow } });

/** The one problem of a config, without the line above it. */
async function problemOf(config: unknown): Promise<string> {
  const [, problem, ...more] = (await thrownBy(() => checkConfig(config))).split("\n");
  if (problem === undefined || more.length > 0) throw new Error("not one problem");
  return problem.trim();
}

const rows: readonly [when: string, config: unknown, remedy?: string][] = [
  ["A setting that must be there is not.", at({ maxTokens: undefined })],
  ["A list or an object that must be there is not.", {}],
  ["A value of another kind.", at({ limit: { start: 1, max: "60" } })],
  ["A count that is no whole number.", at({ limit: { start: 1, max: 1.5 } })],
  ["A number too small.", at({ limit: { start: 0, max: 60 } })],
  ["A number that must be more than nothing.", { models, lanes: { bulk: { share: 0 } } }],
  ["A number too big.", { models, lanes: { bulk: { share: 1.5 } } }],
  ["A word that is none of those the setting knows.", at({ ops: ["chat"] })],
  ["A switch that can only be on.", at({ countTokens: false })],
  ["A list without anything in it.", at({ ops: [] })],
  ["A slip of the hand in a setting's name.", at({ typicalMS: 3_000 })],
  ["A name that is no setting at all.", at({ colour: "red" })],
  ["A model's or a target's name that steps could not be made of.", { models: { "fast@text": models["fast-text"] } }],
  ["No model at all.", { models: {} }],
  ["A model that nothing serves.", { models: { "fast-text": { targets: {} } } }],
  ["A limit that begins above its maximum.", at({ limit: { start: 61, max: 60 } })],
  [
    "A model id that Bedrock has not, or the ARN of one of AWS's own models.",
    at({ modelId: "arn:aws:bedrock:us-west-2::foundation-model/amazon.nova-lite-v1:0" }),
  ],
  ["An ARN of another region than its target's.", at({ modelId: imported, region: "us-east-1" })],
  ["An ARN behind an ARN.", at({ modelId: ownProfile, baseModelId: ownProfile })],
  ["A base for what is a base itself.", at({ baseModelId: place.modelId })],
  ["An application inference profile of which nobody knows the model.", at({ modelId: ownProfile })],
  ["A region by another name than its code.", at({ region: "Oregon" })],
  ["A destination by another name than its region's code.", at({ destinationRegions: ["eu-central1"] })],
  ["A quota group that the config does not have.", at({ quotaGroup: "nova" })],
  ["An answer longer than the window that it shares with the prompt.", at({ maxTokens: 300_001 })],
  ["Tokens of a model that nobody names are to be counted.", at({ modelId: imported, countTokens: true })],
  [
    "Tokens are to be counted for nothing.",
    { models: { "fast-text": { targets: { "us-west-2": { ...unwindowed, countTokens: true } } } } },
  ],
  ["A budget, and a target of which nobody knows what it costs.", { models, lanes: { bulk: { dailyBudgetUsd: 50 } } }],
  [
    "A budget that nothing is ever counted against.",
    { ...at({ price: { inputPerMTok: 0, outputPerMTok: 0 } }), lanes: { bulk: { dailyBudgetUsd: 50 } } },
  ],
  ["A stop reason with a slip of the hand in it.", stopped(["guardrail_intervend"])],
  [
    "A stop reason that could only stand in a model's own body, which no target is asked for.",
    { models: { m: { targets: { t: { ...place, ops: ["converse"] } }, fallbackOn: ["refusal"] } } },
  ],
  ["A fallback to a model that the config does not have.", chained(["clever-text"])],
  ["A fallback to a target that the model does not have.", chained(["fast-text@mars"])],
  ["Fallbacks that go in a circle.", chained(["fast-text"])],
  ["A fallback that is no step.", chained([7])],
  ["A guardrail by its id alone, or with its version.", { models, guardrails: ["gr1a2b3c4d5e"] }],
  ["A bucket by more than its name.", { models, paramsRef: { buckets: ["s3://prompts"] } }],
  [
    "Keys, and no bucket that they could be of.",
    {
      models,
      paramsRef: { buckets: [], keys: ["arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"] },
    },
  ],
  [
    "A key by its alias: rights are given to keys alone.",
    { models, paramsRef: { buckets: ["prompts"], keys: ["alias/prompts"] } },
  ],
  ["A queue of another kind, or by another name.", allowing({ sqs: ["replies.fifo"] })],
  ["An event bus that EventBridge could not know.", allowing({ eventBuses: ["my bus"] })],
  ["A topic of another kind, or by another name.", allowing({ sns: ["replies"] })],
  [
    "A token of the CDK, such as `queue.queueUrl` of the same app: CloudFormation fills it in, where the bundle already is.",
    allowing({ sqs: ["${Token[TOKEN.12]}"] }),
  ],
];

export const configErrors: Group = {
  title: "The config",
  about:
    "A `ConfigError`, at synth, at `npm start`, at `createCallNow`, and when a function starts. Each line below `The config cannot be used:` is one problem: the setting's path, what is wrong, what to do.",
  entries: [
    [
      "The line above the problems.",
      async () => (await thrownBy(() => checkConfig({}))).split("\n")[0] ?? "",
      "Mend each of the lines that follow.",
    ],
    ...rows.map(([when, config, ...remedy]): Entry => [when, () => problemOf(config), ...remedy]),
  ],
};
