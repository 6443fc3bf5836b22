import { afterAll, beforeAll, expect, test } from "vitest";

import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { createClient } from "../../lib/client/index.ts";
import type { Client, ParamsOf } from "../../lib/client/index.ts";
import { bootstrap, deploy } from "./deployment.ts";
import { startMinistack } from "./ministack.ts";
import type { Ministack } from "./ministack.ts";

let bedrock: BedrockStandIn;
let aws: Ministack;
let client: Client;

beforeAll(async () => {
  bedrock = await startBedrock();
  aws = await startMinistack(bedrock.endpoint);
  Object.assign(process.env, aws.env);
  await bootstrap(aws);
  const outputs = await deploy(aws, "test/deploy/app.ts");
  const { rtQueueUrl: rt = "", bgQueueUrl: bg = "", bulkQueueUrl: bulk = "", jobTableName: jobTable = "" } = outputs;
  client = createClient({ queueUrls: { rt, bg, bulk }, jobTable });
});

afterAll(async () => {
  await aws?.stop();
  await bedrock?.close();
});

const params: ParamsOf["converse"] = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };

test.for(["rt", "bg", "bulk"] as const)("a job of the %s lane is answered", async (lane) => {
  const jobId = await client.submit({
    jobId: `direct-${lane}`,
    model: "fast-text",
    op: "converse",
    lane,
    params,
  });
  expect(await client.waitForReply(jobId)).toMatchObject({ kind: "replied", reply: { status: "succeeded" } });
});
