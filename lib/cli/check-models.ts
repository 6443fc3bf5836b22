/** The doctor's look at Bedrock: access to the models, their profiles, and the account's quotas. */
import type { BedrockClient } from "@aws-sdk/client-bedrock";
import type { ServiceQuota } from "@aws-sdk/client-service-quotas";

import { targetsOf } from "../core/config.ts";
import type { Config, NamedTarget } from "../core/config.ts";
import { readModelId } from "../core/model-id.ts";
import { checked, problem, problemsOr, unknown } from "./finding.ts";
import type { Finding } from "./finding.ts";
import type { Outputs } from "./outputs.ts";

const askAccess =
  "call it once in the console's playground, as somebody with aws-marketplace:Subscribe; Claude also wants its use-case form";

export async function checkModels(config: Config, outputs: Outputs): Promise<readonly Finding[]> {
  if (outputs.local !== undefined) return [unknown("models", "Bedrock is no part of this machine")];
  const regions = [...new Set(targetsOf(config).map(({ target }) => target.region))];
  const quotas = new Map(regions.map((region) => [region, quotasIn(region)]));
  // A failure is told by each target that needs them, which may be a moment later.
  for (const asked of quotas.values()) asked.catch(() => undefined);
  const found = targetsOf(config).map(async (target) => {
    const bedrock = checked(target.step, async () => {
      const { BedrockClient } = await import("@aws-sdk/client-bedrock");
      return await checkTarget(new BedrockClient({ region: target.target.region }), target);
    });
    const limits = checked(`quota of ${target.step}`, async () => {
      if (!hasQuota(target)) return [unknown(`quota of ${target.step}`, noQuota(target))];
      const { BedrockClient } = await import("@aws-sdk/client-bedrock");
      const name = await modelName(new BedrockClient({ region: target.target.region }), target);
      return quotaFindings(target, name, (await quotas.get(target.target.region)) ?? []);
    });
    return [...(await bedrock), ...(await limits)];
  });
  return (await Promise.all(found)).flat();
}

async function checkTarget(bedrock: BedrockClient, { step, target }: NamedTarget): Promise<readonly Finding[]> {
  const { modelId, region } = target;
  const named = readModelId(modelId);
  if (named?.kind === "profile") {
    const missing = {
      says: `there is no inference profile ${modelId} in ${region}`,
      remedy: "correct the target's modelId or region in the config, and deploy",
    };
    const { GetInferenceProfileCommand } = await import("@aws-sdk/client-bedrock");
    const profile = await checked(
      step,
      async () => {
        const { status } = await bedrock.send(new GetInferenceProfileCommand({ inferenceProfileIdentifier: modelId }));
        return status === "ACTIVE"
          ? []
          : [problem(step, `the inference profile ${modelId} is ${status}`, "name another in the config")];
      },
      missing,
    );
    if (profile.length > 0) return profile;
  }
  const baseModelId = baseOf(target);
  if (baseModelId === undefined) return [unknown(step, `${modelId} is your own: nobody says what access it needs`)];
  const { GetFoundationModelAvailabilityCommand } = await import("@aws-sdk/client-bedrock");
  const absent = {
    says: `there is no model ${baseModelId} in ${region}`,
    remedy: "correct the target's modelId or region in the config, and deploy",
  };
  return await checked(
    step,
    async () => {
      const seen = await bedrock.send(new GetFoundationModelAvailabilityCommand({ modelId: baseModelId }));
      return problemsOr(step, `${modelId} in ${region}`, [
        ...(seen.authorizationStatus === "NOT_AUTHORIZED"
          ? [problem(step, `this account may not use ${baseModelId} in ${region}`, askAccess)]
          : []),
        ...(seen.entitlementAvailability === "NOT_AVAILABLE" || seen.agreementAvailability?.status === "NOT_AVAILABLE"
          ? [problem(step, `no access to ${baseModelId} has been asked for in ${region}`, askAccess)]
          : []),
        ...(seen.regionAvailability === "NOT_AVAILABLE" && named?.kind === "model"
          ? [
              problem(
                step,
                `${baseModelId} is not served in ${region}`,
                "name another region in the config, or an inference profile",
              ),
            ]
          : []),
      ]);
    },
    absent,
  );
}

function baseOf({ modelId, baseModelId = modelId }: NamedTarget["target"]): string | undefined {
  const named = readModelId(baseModelId);
  return named === undefined || named.kind === "own" ? undefined : named.modelId;
}

/** What was bought or imported has a throughput of its own; a profile of one's own has that of its model. */
function hasQuota({ target }: NamedTarget): boolean {
  const named = readModelId(target.modelId);
  const isOfModel = named?.kind !== "own" || named.what === "application-inference-profile";
  return isOfModel && baseOf(target) !== undefined;
}

function noQuota({ target }: NamedTarget): string {
  return `${target.modelId} is your own: AWS names no quota for it; the limit is learned from throttles`;
}

async function modelName(bedrock: BedrockClient, { target }: NamedTarget): Promise<string> {
  const { GetFoundationModelCommand } = await import("@aws-sdk/client-bedrock");
  const { modelDetails } = await bedrock.send(new GetFoundationModelCommand({ modelIdentifier: baseOf(target) }));
  return modelDetails?.modelName ?? "";
}

/** Told by each target of the region that needs them. */
async function quotasIn(region: string): Promise<readonly ServiceQuota[]> {
  const { ServiceQuotasClient, paginateListServiceQuotas } = await import("@aws-sdk/client-service-quotas");
  const quotas: ServiceQuota[] = [];
  const pages = paginateListServiceQuotas({ client: new ServiceQuotasClient({ region }) }, { ServiceCode: "bedrock" });
  for await (const { Quotas = [] } of pages) quotas.push(...Quotas);
  return quotas;
}

/** Quotas are named in words: `Cross-Region InvokeModel tokens per minute for Amazon Nova Lite`, and otherwise before. */
export function quotaFindings(
  { step, target }: Pick<NamedTarget, "step" | "target">,
  name: string,
  quotas: readonly Pick<ServiceQuota, "QuotaName" | "Value">[],
): readonly Finding[] {
  const check = `quota of ${step}`;
  const kind = readModelId(target.baseModelId ?? target.modelId)?.kind === "profile" ? "cross-region" : "on-demand";
  const valueOf = (what: string) =>
    quotas.find(({ QuotaName = "" }) => {
      const [subject = "", model = ""] = QuotaName.toLowerCase().split(" for ");
      return name !== "" && subject.startsWith(kind) && subject.includes(what) && model.endsWith(name.toLowerCase());
    })?.Value;
  const [tokens, requests] = [valueOf("tokens per minute"), valueOf("requests per minute")];
  if (tokens === undefined && requests === undefined)
    return [
      unknown(
        check,
        `Service Quotas names none for ${name === "" ? target.modelId : name}; the limit is learned from throttles`,
      ),
    ];
  const { limit, typicalMs, tokensPerMinute, requestsPerMinute } = target;
  const asked = typicalMs === undefined ? 0 : Math.round((limit.max * 60_000) / typicalMs);
  const said = [
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(requests === undefined ? [] : [`${requests} requests`]),
  ].join(", ");
  return problemsOr(check, `${said} a minute`, [
    ...(tokens !== undefined && (tokensPerMinute ?? 0) > tokens
      ? [
          problem(
            check,
            `the config says ${tokensPerMinute} tokens a minute, the account has ${tokens}`,
            "lower tokensPerMinute, or have the quota raised",
          ),
        ]
      : []),
    ...(requests !== undefined && (requestsPerMinute ?? 0) > requests
      ? [
          problem(
            check,
            `the config says ${requestsPerMinute} requests a minute, the account has ${requests}`,
            "lower requestsPerMinute, or have the quota raised",
          ),
        ]
      : []),
    ...(requests !== undefined && requestsPerMinute === undefined && asked > requests
      ? [
          problem(
            check,
            `limit.max ${limit.max} at ${typicalMs} ms each asks ${asked} times a minute, the account has ${requests}`,
            `set requestsPerMinute: ${requests}, lower limit.max, or have the quota raised`,
          ),
        ]
      : []),
  ]);
}
