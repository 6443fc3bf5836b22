import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { checkModels } from "../../lib/cli/check-models.ts";
import { checkConfig } from "../../lib/config.ts";
import type { TargetConfig } from "../../lib/core/config.ts";
import { target } from "../infra/synth.ts";
import { startStandIn } from "./stand-in.ts";
import type { StandIn } from "./stand-in.ts";

let bedrock: StandIn;
beforeAll(async () => {
  bedrock = await startStandIn();
  vi.stubEnv("AWS_ENDPOINT_URL", bedrock.endpoint);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "a");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "b");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await bedrock.stop();
});

const arn = (what: string) => `arn:aws:bedrock:us-west-2:123456789012:${what}/abc123`;
const noQuota = { kind: "unknown", says: expect.stringContaining("AWS names no quota for it") };

test.each<[says: string, facts: Partial<TargetConfig>, found: readonly object[]]>([
  ["a provisioned model", { modelId: arn("provisioned-model") }, [{ kind: "unknown" }, noQuota]],
  ["an imported model", { modelId: arn("imported-model") }, [{ kind: "unknown" }, noQuota]],
  [
    "a provisioned model whose base is known: what it may do was bought",
    { modelId: arn("provisioned-model"), baseModelId: "amazon.nova-lite-v1:0" },
    [{ kind: "ok" }, noQuota],
  ],
  [
    "a profile of one's own, which has the quota of what it was made from",
    { modelId: arn("application-inference-profile"), baseModelId: "us.amazon.nova-lite-v1:0" },
    [{ kind: "ok" }, { kind: "ok", says: "2000 requests a minute" }],
  ],
])("the doctor looks at %s", async (_says, facts, found) => {
  const config = checkConfig({ models: { "fast-text": { targets: { west: target(facts) } } } });
  expect(await checkModels(config, { values: {} })).toMatchObject(found);
});
