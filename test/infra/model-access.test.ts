import { describe, expect, test } from "vitest";
import { modelStatements } from "../../infra/model-access.ts";
import { checkConfig } from "../../lib/config.ts";
import type { TargetConfig } from "../../lib/core/config.ts";
import { config, stack, target } from "./synth.ts";

/** The statements as text: the ARNs, then the profiles through which alone they may be called. */
function granted(...targets: readonly Partial<TargetConfig>[]) {
  const theirs = stack();
  const places = Object.fromEntries(targets.map((facts, place) => [`t${place}`, target(facts)]));
  const statements = modelStatements(theirs, checkConfig(config({ models: { m: { targets: places } } })));
  return statements.map((statement) => {
    const { Action, Resource, Condition } = theirs.resolve(statement.toStatementJson());
    const [invoke, stream, ...lookUp] = Action;
    expect([invoke, stream]).toEqual(["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]);
    const through = Condition?.StringEquals["bedrock:InferenceProfileArn"];
    return {
      may: [Resource].flat().map(short),
      ...(lookUp.length === 0 ? {} : { andAsk: lookUp.map((action: string) => action.split(":")[1]) }),
      ...(through === undefined ? {} : { through: [through].flat().map(short) }),
    };
  });
}

/** What may be asked to count tokens; the other statements as `granted` tells them. */
function counting(...targets: readonly Partial<TargetConfig>[]) {
  const theirs = stack();
  const places = Object.fromEntries(targets.map((facts, place) => [`t${place}`, target(facts)]));
  const statements = modelStatements(theirs, checkConfig(config({ models: { m: { targets: places } } })));
  return statements
    .map((statement) => theirs.resolve(statement.toStatementJson()))
    .filter(({ Action }) => [Action].flat().includes("bedrock:CountTokens"))
    .map(({ Action, Resource, Condition }) => ({ Action, may: [Resource].flat().map(short), Condition }));
}

/** An ARN from its region on, without the account that nobody knows at synth. */
function short(arn: unknown): string {
  if (typeof arn === "string") return arn.replace("arn:aws:bedrock:", "");
  const pieces: readonly (string | object)[] = Object(arn)["Fn::Join"][1];
  const whole = pieces.map((piece) => (typeof piece === "string" ? piece : "")).join("");
  return whole.replace("arn::bedrock:", "");
}

const novaLite = "foundation-model/amazon.nova-lite-v1:0";
const profile = "inference-profile/us.amazon.nova-lite-v1:0";

const own = (what: string) => `arn:aws:bedrock:us-west-2:123456789012:${what}/a1`;

describe("the right to call Bedrock", () => {
  test("is for a model in its region, where no profile stands before it", () =>
    expect(granted({ modelId: "amazon.nova-lite-v1:0" })).toEqual([{ may: [`us-west-2::${novaLite}`] }]));

  test("is for a profile, and through it for the model wherever it routes to", () =>
    expect(granted({})).toEqual([
      { may: [`us-west-2::${profile}`], andAsk: ["GetInferenceProfile"] },
      {
        may: [`us-west-2::${novaLite}`, `us-east-1::${novaLite}`, `us-east-2::${novaLite}`],
        through: [`us-west-2::${profile}`],
      },
    ]));

  test("is given once for two regions of one profile", () => {
    const [profiles, models, ...more] = granted({ region: "us-west-2" }, { region: "us-east-1" });
    expect(more).toEqual([]);
    expect(profiles?.may).toEqual([`us-west-2::${profile}`, `us-east-1::${profile}`]);
    expect(models?.through).toEqual(profiles?.may);
  });

  test("is for the model in no region too, where the profile is global", () =>
    expect(granted({ modelId: "global.amazon.nova-lite-v1:0" })[1]?.may).toEqual([
      `us-west-2::${novaLite}`,
      `::${novaLite}`,
    ]));

  test("is for the model in no region, where the profile is global, whatever destinations are named beside", () =>
    expect(granted({ modelId: "global.amazon.nova-lite-v1:0", destinationRegions: ["eu-west-1"] })[1]?.may).toEqual([
      `us-west-2::${novaLite}`,
      `eu-west-1::${novaLite}`,
      `::${novaLite}`,
    ]));

  test("follows the destinations that the config names", () =>
    expect(
      granted({ modelId: "eu.amazon.nova-lite-v1:0", region: "eu-west-1", destinationRegions: ["eu-west-3"] })[1]?.may,
    ).toEqual([`eu-west-1::${novaLite}`, `eu-west-3::${novaLite}`]));

  test("is for an application inference profile, and through it alone for what it was made from", () =>
    expect(granted({ modelId: own("application-inference-profile"), baseModelId: "us.amazon.nova-lite-v1:0" })).toEqual(
      [
        { may: ["us-west-2:123456789012:application-inference-profile/a1"], andAsk: ["GetInferenceProfile"] },
        {
          may: [
            `us-west-2::${profile}`,
            ...["us-west-2", "us-east-1", "us-east-2"].map((region) => `${region}::${novaLite}`),
          ],
          through: ["us-west-2:123456789012:application-inference-profile/a1"],
        },
      ],
    ));

  test("is for the model in its region alone, where an application inference profile was made from that", () =>
    expect(granted({ modelId: own("application-inference-profile"), baseModelId: "amazon.nova-lite-v1:0" })[1]).toEqual(
      {
        may: [`us-west-2::${novaLite}`],
        through: ["us-west-2:123456789012:application-inference-profile/a1"],
      },
    ));

  test.each([
    ["provisioned-model", { andAsk: ["GetProvisionedModelThroughput"] }],
    ["imported-model", { andAsk: ["GetImportedModel"] }],
    ["custom-model-deployment", {}],
  ])("is for an own %s and nothing behind it", (what, andAsk) =>
    expect(granted({ modelId: own(what), baseModelId: "amazon.nova-lite-v1:0" })).toEqual([
      { may: [`us-west-2:123456789012:${what}/a1`], ...andAsk },
    ]),
  );

  test("is refused where nobody knows the destinations of what stands behind an ARN", () =>
    expect(() =>
      granted({ modelId: own("application-inference-profile"), baseModelId: "eu.amazon.nova-lite-v1:0" }),
    ).toThrow("m@t0: where eu.amazon.nova-lite-v1:0 routes to is not known here; set destinationRegions"));

  test("is refused where nobody knows the destinations, with the remedy", () =>
    expect(() => granted({ modelId: "eu.amazon.nova-lite-v1:0", region: "eu-west-1" })).toThrow(
      "m@t0: where eu.amazon.nova-lite-v1:0 routes to is not known here; set destinationRegions",
    ));
});

describe("the right to count tokens", () => {
  const counted = { countTokens: true, contextWindow: 300_000 } as const;

  test("is given to nobody whose config does not ask for it", () => expect(counting({}, {})).toEqual([]));

  test("is for the model itself in its own region, also where requests go to a profile", () =>
    expect(counting(counted, { ...counted, region: "us-east-1" }, counted, {})).toEqual([
      { Action: "bedrock:CountTokens", may: [`us-west-2::${novaLite}`, `us-east-1::${novaLite}`] },
    ]));

  test("is for what stands behind an ARN", () =>
    expect(counting({ ...counted, modelId: own("provisioned-model"), baseModelId: "amazon.nova-lite-v1:0" })).toEqual([
      { Action: "bedrock:CountTokens", may: [`us-west-2::${novaLite}`] },
    ]));
});
