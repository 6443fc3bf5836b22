import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { runWork } from "../../infra/local/run.ts";
import type { Watch } from "../../infra/local/run.ts";
import type { Job } from "../../lib/client/index.ts";
import { aService } from "./a-service.ts";

const job = (jobId: string): Job => ({ jobId, model: "fast-text", op: "converse", params: { messages: [] } });
const never = new AbortController().signal;

const unheard: Watch = { replied: () => {}, progress: () => {}, trouble: () => {} };

test("nobody listens on for replies once sending has failed", async () => {
  let looks = 0;
  async function* jobs() {
    for (let place = 0; place < 500; place += 1) yield job(`job-${place}`);
    throw new Error("the file's disk is gone");
  }
  const watch = { ...unheard, progress: () => void (looks += 1) };
  await expect(runWork({ jobs: jobs() }, aService(), watch, never)).rejects.toThrow("the file's disk is gone");
  const seen = looks;
  await sleep(400);
  expect(looks).toBe(seen);
});

test("what somebody runs again from the page meanwhile makes no less than nothing parked", async () => {
  const counts = [3, 2];
  const service = aService({
    GetQueueAttributes: ({ QueueUrl }) => {
      const count = QueueUrl === "parkedQueueUrl" ? (counts.shift() ?? 2) : 0;
      return { Attributes: { ApproximateNumberOfMessages: String(count) } };
    },
  });
  const outcome = await runWork({ jobs: [] }, service, unheard, never);
  expect(outcome.parked).toBe(0);
});
