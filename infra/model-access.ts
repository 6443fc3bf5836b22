import { ArnFormat, Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { ConfigError } from "../lib/config.ts";
import { countedAs } from "../lib/core/count-tokens.ts";
import { targetsOf } from "../lib/core/config.ts";
import type { Config, TargetConfig } from "../lib/core/config.ts";
import { readModelId } from "../lib/core/model-id.ts";
import type { NamedModel, OwnModel } from "../lib/core/model-id.ts";

const invoke = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"];

/** What AWS wants beside the invocation; https://docs.aws.amazon.com/bedrock/latest/userguide/inference-prereq.html */
const lookUps: Readonly<Record<"inference-profile" | OwnModel, readonly string[]>> = {
  "inference-profile": ["bedrock:GetInferenceProfile"],
  "application-inference-profile": ["bedrock:GetInferenceProfile"],
  "provisioned-model": ["bedrock:GetProvisionedModelThroughput"],
  "imported-model": ["bedrock:GetImportedModel"],
  "custom-model-deployment": [],
};

/** https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html */
export const usDestinations: readonly string[] = ["us-east-1", "us-east-2", "us-west-2"];

/** A target, with the name of its step for messages. */
type Place = TargetConfig & { readonly step: string };

/**
 * The right to call exactly the configured targets, under the configured guardrails. A model behind an inference profile may be called in every region
 * that the profile routes to, but only by way of that profile.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/geographic-cross-region-inference.html
 */
export function modelStatements(scope: Construct, config: Config): PolicyStatement[] {
  const places: Place[] = targetsOf(config).map(({ step, target }) => ({ ...target, step }));
  const direct = places.filter(({ modelId }) => named(modelId).kind === "model");
  const indirect = places.filter(({ modelId }) => named(modelId).kind !== "model");

  const statements = [
    ...counting(scope, places),
    ...guarding(config),
    ...[...Map.groupBy(indirect, ({ modelId }) => modelId)].flatMap(([modelId, callers]) =>
      indirectly(scope, named(modelId), callers),
    ),
  ];
  if (direct.length === 0) return statements;
  const resources = unique(direct.map(({ region, modelId }) => modelArn(scope, region, modelId)));
  return [...statements, new PolicyStatement({ actions: invoke, resources })];
}

/** The right to have prompts counted, which is asked of the model itself, never of a profile. */
function counting(scope: Construct, places: readonly Place[]): PolicyStatement[] {
  const resources = places.flatMap((place) => {
    const modelId = place.countTokens === true ? countedAs(place) : undefined;
    return modelId === undefined ? [] : [modelArn(scope, place.region, modelId)];
  });
  return resources.length === 0
    ? []
    : [new PolicyStatement({ actions: ["bedrock:CountTokens"], resources: unique(resources) })];
}

/**
 * The right to the guardrails that a request may name, which Bedrock asks for beside the right to the model; across
 * regions for the guardrail's profile too. https://docs.aws.amazon.com/bedrock/latest/userguide/guardrail-profiles-permissions.html
 */
function guarding({ guardrails = [] }: Config): PolicyStatement[] {
  if (guardrails.length === 0) return [];
  return [new PolicyStatement({ actions: ["bedrock:ApplyGuardrail"], resources: unique(guardrails) })];
}

/** What is called under one id that is no foundation model's, and what Bedrock calls behind it. */
function indirectly(scope: Construct, model: NamedModel, callers: readonly Place[]): PolicyStatement[] {
  switch (model.kind) {
    case "model":
      return [];
    case "profile": {
      const arns = unique(callers.map(({ region }) => profileArn(scope, region, model.profileId)));
      const behind = callers.flatMap((caller) => modelArns(scope, model, caller));
      return [called("inference-profile", arns), through(arns, behind)];
    }
    case "own": {
      const front = called(model.what, [model.arn]);
      // Behind the others stands no model of AWS.
      if (model.what !== "application-inference-profile") return [front];
      const behind = callers.flatMap((caller) => behindApplication(scope, caller));
      return [front, through([model.arn], behind)];
    }
  }
}

/** What an application inference profile was made from: a checked config names it. */
function behindApplication(scope: Construct, caller: Place): string[] {
  const base = named(caller.baseModelId ?? "");
  switch (base.kind) {
    case "model":
      return [modelArn(scope, caller.region, base.modelId)];
    case "profile":
      // AWS asks for the models alone; where it checks the profile in between too, this lets it through.
      return [profileArn(scope, caller.region, base.profileId), ...modelArns(scope, base, caller)];
    case "own":
      return [];
  }
}

function called(what: keyof typeof lookUps, resources: string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...invoke, ...lookUps[what]], resources });
}

function through(profileArns: string[], behind: readonly string[]): PolicyStatement {
  const conditions = { StringEquals: { "bedrock:InferenceProfileArn": profileArns } };
  return new PolicyStatement({ actions: invoke, resources: unique(behind), conditions });
}

function modelArns(scope: Construct, profile: NamedModel & { readonly kind: "profile" }, caller: Place): string[] {
  const regions = [caller.region, ...destinations(profile.profileId, caller)];
  return regions.map((region) => modelArn(scope, region, profile.modelId));
}

/** The regions a profile may route to; the global ones also name the model in no region at all. */
function destinations(profileId: string, { step, destinationRegions }: Place): readonly string[] {
  if (profileId.startsWith("global.")) return [...(destinationRegions ?? []), ""];
  if (destinationRegions !== undefined) return destinationRegions;
  if (profileId.startsWith("us.")) return usDestinations;
  throw new ConfigError(
    `Sluice: ${step}: where ${profileId} routes to is not known here; set destinationRegions to what ` +
      `\`aws bedrock get-inference-profile --inference-profile-identifier ${profileId}\` lists`,
  );
}

/** A checked config names nothing that cannot be read. */
function named(modelId: string): NamedModel {
  return readModelId(modelId) ?? { kind: "model", modelId };
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
