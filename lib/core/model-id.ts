/** What is called by its ARN alone; https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html */
export type OwnModel =
  | "application-inference-profile"
  | "provisioned-model"
  | "imported-model"
  | "custom-model-deployment";

/** What a target's `modelId` names. */
export type NamedModel =
  | { readonly kind: "model"; readonly modelId: string }
  /** AWS's own inference profile, which routes to `modelId` in several regions. */
  | { readonly kind: "profile"; readonly profileId: string; readonly modelId: string }
  /** Somebody's own, in one region; its ARN does not tell the model. */
  | { readonly kind: "own"; readonly arn: string; readonly region: string; readonly what: OwnModel };

const bedrockId = /^[a-z0-9-]+\.[A-Za-z0-9.:-]+$/;

/** What begins the id of an inference profile instead of a provider's name. */
const profilePrefix = /^(?:us|us-gov|eu|apac|jp|au|ca|global)\./;

const ownArn =
  /^arn:aws[a-z-]*:bedrock:([a-z0-9-]+):\d{12}:(application-inference-profile|provisioned-model|imported-model|custom-model-deployment)\/[A-Za-z0-9.:-]+$/;

/** Undefined: neither an id nor such an ARN. What AWS itself provides is named by its id. */
export function readModelId(text: string): NamedModel | undefined {
  const [arn, region, what] = ownArn.exec(text) ?? [];
  if (arn !== undefined && region !== undefined && isOwnModel(what)) return { kind: "own", arn, region, what };
  if (!bedrockId.test(text)) return undefined;
  const modelId = text.replace(profilePrefix, "");
  return modelId === text ? { kind: "model", modelId } : { kind: "profile", profileId: text, modelId };
}

function isOwnModel(what: string | undefined): what is OwnModel {
  // mutant: `what !== undefined` → `true`: the pattern that found the region has found it, too.
  return what !== undefined;
}
