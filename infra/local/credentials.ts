import { BedrockRuntimeClient } from "@aws-sdk/client-bedrock-runtime";

import { errorName } from "../../lib/core/error-name.ts";
import { Fault } from "../../lib/terminal/fault.ts";

/** @throws Fault where the SDK's own chain finds no credentials for the real Bedrock. Nothing is asked of Bedrock. */
export async function needCredentials(): Promise<void> {
  if ((process.env["AWS_BEARER_TOKEN_BEDROCK"] ?? "") !== "") return;
  const bedrock = new BedrockRuntimeClient({ region: "us-west-2" });
  try {
    await bedrock.config.credentials();
  } catch (error) {
    throw new Fault(
      `--bedrock aws finds no AWS credentials in this shell (${errorName(error)}); set AWS_PROFILE (after aws sso login, ` +
        "if it is one of SSO), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK",
    );
  } finally {
    bedrock.destroy();
  }
}

/** Whatever this shell would find its credentials by. */
export function ownCredentials(): Record<string, string> {
  const found = Object.entries(process.env).filter(([name]) =>
    /^(HOME|USERPROFILE|AWS_(?!ENDPOINT_URL|REGION|DEFAULT_REGION).*)$/.test(name),
  );
  return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
