import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { StandIn } from "./stand-in.ts";

const outputs = join(temporaryFolder("cli-cancel"), "outputs.json");
const bgQueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/bg";
const told = (more: object) =>
  writeFileSync(outputs, JSON.stringify({ Sluice: { jobTableName: "jobs", bgQueueUrl, ...more } }));
const credentials = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };

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
  told({});
  const args = ["cancel", "first", "second", "--json", "--outputs", outputs, "--endpoint", dynamo.endpoint];
  const { code, stdout, stderr } = await run(args, credentials);
  expect(code).toBe(1);
  expect(stdout).toBe('{"jobs":[{"jobId":"first","outcome":"unseen"}]}\n');
  expect(stderr).toContain("not any more");
});

test.each<[says: string, outputs: object, days: number]>([
  ["as long as the deployment keeps replies", { replyTtlDays: "30" }, 30],
  ["a week where an earlier version's stack does not say how long", {}, 7],
  ["a week where somebody has written no number", { replyTtlDays: "long" }, 7],
])("a job's cancelled reply is kept %s", { timeout: 60_000 }, async (_says, more, days) => {
  dynamo.instead = {
    BatchGetItem: { body: { Responses: { jobs: [] } } },
    GetItem: { body: {} },
    UpdateItem: { body: {} },
  };
  told(more);
  const ended = await run(["cancel", "first", "--outputs", outputs, "--endpoint", dynamo.endpoint], credentials);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const numbers = [...(dynamo.sent.get("UpdateItem") ?? "").matchAll(/"N":"(\d+)"/g)].map(([, text]) => Number(text));
  const leftDays = numbers.map((ttlS) => Math.round((ttlS - Date.now() / 1_000) / 86_400));
  expect(leftDays).toContain(days);
});
