/** The test for a real account, run from its first step to its last where its answers are known: on MiniStack. */
import { ListBucketsCommand } from "@aws-sdk/client-s3";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startBedrock } from "../../infra/local/bedrock/server.ts";
import type { BedrockStandIn } from "../../infra/local/bedrock/server.ts";
import { s3Client } from "../../lib/aws/clients.ts";
import { smoke, stackName, trials } from "../account/smoke.ts";
import type { Smoke } from "../account/smoke.ts";
import { statusOf } from "../account/tear-down.ts";
import { bootstrap } from "./deployment.ts";
import { startMinistack } from "./ministack.ts";
import type { Ministack } from "./ministack.ts";

/** What MiniStack does not have, or does otherwise than AWS: here the test for an account must find fault. */
const notHere: readonly string[] = ["insights-alarms", "move-task", "redrive-allow", "twelve-hours"];

let bedrock: BedrockStandIn;
let ministack: Ministack;
let asked: Smoke;
const said: string[] = [];

beforeAll(async () => {
  bedrock = await startBedrock();
  ministack = await startMinistack(bedrock.endpoint);
  Object.assign(process.env, ministack.env, { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.endpoint });
  const place = { ...ministack.place, stack: stackName };
  await bootstrap(ministack, place.account, place.region);
  asked = {
    place,
    aws: ministack.aws,
    deploying: ministack,
    apiOf: ({ apiId }) => ({ path: `/restapis/${apiId}/prod/_user_request_/` }),
    isWanted: (name) => name !== "pipe",
    say: (line) => said.push(line),
    signal: new AbortController().signal,
  };
});

afterAll(async () => {
  await ministack?.stop();
  await bedrock?.close();
});

test(
  "everything that this AWS has is found as it should be, and nothing stays",
  { concurrent: false },
  async ({ onTestFailed }) => {
    onTestFailed(() => console.error(said.join("\n")));
    const outcomes = await smoke(asked);
    expect(outcomes.map(({ name }) => name).toSorted()).toEqual(
      trials.flatMap(({ name }) => (name === "pipe" ? [] : [name])).toSorted(),
    );
    const faults = outcomes.filter(({ kind }) => kind === "fails").map(({ name }) => name);
    expect(faults.toSorted()).toEqual([...notHere]);
    expect(await left()).toEqual([]);
  },
);

test("a run that is interrupted takes away what it has made", { concurrent: false }, async () => {
  const interrupted = new AbortController();
  const say = (line: string) => {
    if (line.startsWith("holds") || line.startsWith("FAILS")) interrupted.abort();
  };
  const outcomes = await smoke({ ...asked, say, signal: interrupted.signal });
  expect(outcomes.filter((outcome) => outcome.kind === "fails" && /interrupted|abort/i.test(outcome.why))).not.toEqual(
    [],
  );
  expect(await left()).toEqual([]);
});

describe("the command", { concurrent: false }, () => {
  const run = (wanted: string) => {
    const env = { ...ministack.env, SLUICE_TEST_ACCOUNT: wanted };
    const file = join(import.meta.dirname, "../account/run.ts");
    return promisify(execFile)(process.execPath, [file, "--clean"], { env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: unknown) => ({ code: Object(error).code, stdout: Object(error).stdout }),
    );
  };

  test("asks STS whose the credentials are, and cleans there", async () =>
    expect(await run(asked.place.account)).toEqual({
      code: 0,
      stdout: `Nothing of ${stackName} is left in ${asked.place.account}, ${asked.place.region}.\n`,
    }));

  test("does nothing in an account that is not the one that was named", async () =>
    expect(await run("123456789012")).toEqual({
      code: 2,
      stdout: expect.stringContaining("account 000000000000's and SLUICE_TEST_ACCOUNT names 123456789012"),
    }));
});

/** Of the stack, and the buckets in its name. */
async function left(): Promise<readonly string[]> {
  const status = await statusOf(ministack.aws, stackName);
  const { Buckets = [] } = await s3Client().send(new ListBucketsCommand());
  const names = Buckets.map(({ Name = "" }) => Name);
  return [
    ...(status === undefined ? [] : [status]),
    ...names.filter((name) => name.startsWith(stackName.toLowerCase())),
  ];
}
