import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Finding } from "../../lib/cli/finding.ts";
import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { Said, StandIn } from "./stand-in.ts";

const outputs = join(temporaryFolder("cli-doctor"), "outputs.json");
const names = ["rt", "bg", "bulk", "parked", "replies"].map((queue) => [
  `${queue}QueueUrl`,
  `https://sqs.us-west-2.amazonaws.com/123456789012/${queue}`,
]);
const tables = { jobTableName: "jobs", leaseTableName: "leases", repliesBucketName: "replies" };
writeFileSync(outputs, JSON.stringify({ Sluice: { ...tables, ...Object.fromEntries(names) } }));

let aws: StandIn;
beforeAll(async () => {
  aws = await startStandIn();
});
afterAll(() => aws.stop());

test.each<[says: string, told: Said, found: Partial<Finding>, goesOn: boolean]>([
  ["throttles", refused("ThrottlingException", "slow down"), { check: "credentials", kind: "unknown" }, true],
  ["fails", refused("InternalServerError", "oh", 500), { check: "credentials", kind: "unknown" }, true],
  ["refuses a right", refused("AccessDeniedException", "no"), { check: "credentials", kind: "ok" }, true],
  ["knows nobody", refused("UnrecognizedClientException", "who"), { check: "credentials", kind: "problem" }, false],
])(
  "where AWS %s the doctor says of the credentials what it knows",
  { timeout: 60_000 },
  async (_says, told, found, goesOn) => {
    aws.instead = { DescribeTable: told };
    const env = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_MAX_ATTEMPTS: "1" };
    const { stdout } = await run(["doctor", "--json", "--outputs", outputs, "--endpoint", aws.endpoint], env);
    const { findings }: { readonly findings: readonly Finding[] } = JSON.parse(stdout);
    expect(findings).toContainEqual(expect.objectContaining(found));
    expect(findings.some(({ check }) => check === "job table")).toBe(goesOn);
  },
);
