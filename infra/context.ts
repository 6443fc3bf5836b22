import { readFileSync } from "node:fs";

const cdkJson = new URL("../cdk.json", import.meta.url);

/**
 * The feature flags of cdk.json. CDK's own command hands them to the app; whoever else makes an App gives them, or gets
 * another template.
 */
export function cdkContext(): Record<string, unknown> {
  const { context }: { readonly context: Record<string, unknown> } = JSON.parse(readFileSync(cdkJson, "utf8"));
  return context;
}
