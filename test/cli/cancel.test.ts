import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { StandIn } from "./stand-in.ts";

const outputs = join(temporaryFolder("cli-cancel"), "outputs.json");
const bgQueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/bg";
writeFileSync(outputs, JSON.stringify({ Sluice: { jobTableName: "jobs", bgQueueUrl } }));

let dynamo: StandIn;
beforeAll(async () => {
  dynamo = await startStandIn();
});
afterAll(() => dynamo.stop());

test("jobs that were cancelled before the next could not be are named", { timeout: 60_000 }, async () => {
  let writes = 0;
  dynamo.instead = {
    BatchGetItem: { body: { Responses: { jobs: [] } } },
    GetItem: { body: {} },
    get UpdateItem() {
      writes += 1;
      return writes === 1 ? { body: {} } : refused("AccessDeniedException", "not any more");
    },
  };
  const credentials = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  const args = ["cancel", "first", "second", "--json", "--outputs", outputs, "--endpoint", dynamo.endpoint];
  const { code, stdout, stderr } = await run(args, credentials);
  expect(code).toBe(1);
  expect(stdout).toBe('{"jobs":[{"jobId":"first","outcome":"unseen"}]}\n');
  expect(stderr).toContain("not any more");
});
