/** What no local engine would get wrong is told wrongly here: the scenario must find fault with it. */
import { afterAll, expect, test, vi } from "vitest";

import { startDynalite, startFauxqs } from "../../infra/local/engines.ts";
import type { Client } from "../../lib/client/index.ts";
import { createLeaseTable, createQueue, engineForTests } from "../contract/engines.ts";
import { callerOf } from "./call.ts";
import type { Deployment } from "./deployed.ts";
import { scenarios } from "./scenarios.ts";

const [dynalite, fauxqs] = await Promise.all([engineForTests(startDynalite), engineForTests(startFauxqs)]);
vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", dynalite);
vi.stubEnv("AWS_ENDPOINT_URL_SQS", fauxqs);
vi.stubEnv("AWS_REGION", "us-east-1");
vi.stubEnv("AWS_ACCESS_KEY_ID", "local");
vi.stubEnv("AWS_SECRET_ACCESS_KEY", "local");
afterAll(() => vi.unstubAllEnvs());

const outputs = { rtQueueUrl: await createQueue(fauxqs), leaseTableName: await createLeaseTable(dynalite) };

/** A deployment each of whose jobs has this reply. */
function answering(reply: object): Deployment {
  const client: Pick<Client, "submitBatch" | "waitForReply"> = {
    submitBatch: async (jobs) => jobs.map(({ jobId }, index) => ({ jobId, index, kind: "sent" })),
    waitForReply: async () => Object({ kind: "replied", reply }),
  };
  return {
    place: { account: "123456789012", region: "us-east-1", stack: "Sluice" },
    outputs,
    client: Object(client),
    aws: callerOf("us-east-1", () => Promise.reject(new Error("asked AWS")), fauxqs),
    api: { path: "/" },
  };
}

const succeeded = (deliveries: number) => ({ status: "succeeded", meta: { deliveries } });
const failed = (code: string) => ({ status: "failed", error: { code } });

test.concurrent.each([
  ["redelivery", "comes again once, at its time", succeeded(2), "holds"],
  [
    "redelivery",
    "is shown again at once, and hidden again, for its visibility was lost",
    succeeded(9),
    "deliveries: 9",
  ],
  ["redelivery", "never waited", succeeded(1), "deliveries: 1"],
  ["missing-params", "ends with what is missing", failed("params_missing"), "holds"],
  ["missing-params", "ends as if the bucket were closed", failed("deadline_exceeded"), "deadline_exceeded"],
] as const)("of %s, of a job that %s, is said so", async (name, _says, reply, found) => {
  const scenario = scenarios.find((each) => each.name === name);
  const seen = await scenario?.run(answering(reply)).then(
    () => "holds",
    (error: unknown) => String(error),
  );
  expect(seen).toContain(found);
});
