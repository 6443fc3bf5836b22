import { ArnFormat, Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { Config, TargetConfig } from "../lib/core/config.ts";

const invoke = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"];

/** What begins the id of an inference profile instead of a provider's name. */
const profilePrefix = /^(us|us-gov|eu|apac|jp|au|ca|global)\./;

/** https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html */
const usDestinations = ["us-east-1", "us-east-2", "us-west-2"];

/**
 * The right to call exactly the configured targets. A model behind an inference profile may be called in every region
 * that the profile routes to, but only by way of that profile.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/geographic-cross-region-inference.html
 */
export function modelStatements(scope: Construct, config: Config): PolicyStatement[] {
  const targets = Object.entries(config.models).flatMap(([model, { targets: places }]) =>
    Object.entries(places).map(([key, target]) => ({ ...target, step: `${model}@${key}` })),
  );
  const profiles = targets.filter(({ modelId }) => profilePrefix.test(modelId));
  const direct = targets.filter(({ modelId }) => !profilePrefix.test(modelId));

  const statements = [...Map.groupBy(profiles, ({ modelId }) => modelId)].flatMap(([profileId, callers]) => {
    const profileArns = unique(callers.map(({ region }) => profileArn(scope, region, profileId)));
    const regions = unique(callers.flatMap((caller) => [caller.region, ...destinations(caller)]));
    const modelArns = regions.map((region) => modelArn(scope, region, profileId.replace(profilePrefix, "")));
    return [
      new PolicyStatement({ actions: invoke, resources: profileArns }),
      new PolicyStatement({
        actions: invoke,
        resources: modelArns,
        conditions: { StringEquals: { "bedrock:InferenceProfileArn": profileArns } },
      }),
    ];
  });
  if (direct.length === 0) return statements;
  const modelArns = unique(direct.map(({ region, modelId }) => modelArn(scope, region, modelId)));
  return [...statements, new PolicyStatement({ actions: invoke, resources: modelArns })];
}

/** The regions a profile may route to; the global ones also name the model in no region at all. */
function destinations({
  step,
  modelId,
  destinationRegions,
}: TargetConfig & { readonly step: string }): readonly string[] {
  if (destinationRegions !== undefined) return destinationRegions;
  if (modelId.startsWith("us.")) return usDestinations;
  if (modelId.startsWith("global.")) return [""];
  throw new Error(
    `Sluice: ${step}: where ${modelId} routes to is not known here; set destinationRegions to what ` +
      `\`aws bedrock get-inference-profile --inference-profile-identifier ${modelId}\` lists`,
  );
}

function profileArn(scope: Construct, region: string, profileId: string): string {
  return Stack.of(scope).formatArn({
    service: "bedrock",
    region,
    resource: "inference-profile",
    resourceName: profileId,
  });
}

function modelArn(scope: Construct, region: string, modelId: string): string {
  const arnFormat = ArnFormat.SLASH_RESOURCE_NAME;
  return Stack.of(scope).formatArn({
    service: "bedrock",
    region,
    account: "",
    resource: "foundation-model",
    resourceName: modelId,
    arnFormat,
  });
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
