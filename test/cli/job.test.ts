import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { noMeta, replyOf, replyText } from "../../lib/core/reply.ts";
import type { ReplyError } from "../../lib/core/reply.ts";
import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { startStandIn } from "./stand-in.ts";
import type { StandIn } from "./stand-in.ts";

const outputs = join(temporaryFolder("cli-job"), "outputs.json");
writeFileSync(outputs, JSON.stringify({ Sluice: { jobTableName: "jobs" } }));

let dynamo: StandIn;
beforeAll(async () => {
  dynamo = await startStandIn();
});
afterAll(() => dynamo.stop());

const refused = { code: "provider_error", kind: "fatal", retryable: false } as const;
const sentence = "west refused the request: X (400); correct the params";
const newer = { ...refused, message: sentence, providerMessage: "about Ada" };
const older = { ...refused, message: 'west refused the request: X (400): "about Ada"; correct the params' };

async function shown(error: ReplyError, ...args: readonly string[]): Promise<string> {
  const reply = replyText(replyOf({ jobId: "j-1", metadata: {} }, { kind: "failed", error }, noMeta));
  const Item = { jobId: { S: "j-1" }, state: { S: "ended" }, stageAtMs: { N: "1795960000000" }, reply: { S: reply } };
  dynamo.instead = { GetItem: { body: { Item } }, Scan: { body: { Items: [Item] } } };
  const { stdout } = await run([...args, "--outputs", outputs, "--endpoint", dynamo.endpoint], {
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
    AWS_REGION: "us-west-2",
  });
  return stdout;
}

describe("what the provider said of a job that failed", { timeout: 60_000 }, () => {
  test.each([[["job", "j-1"]], [["job", "j-1", "--json"]], [["jobs", "--failed"]], [["jobs", "--failed", "--json"]]])(
    "%j does not show",
    async (args) => {
      for (const error of [newer, older]) {
        const stdout = await shown(error, ...args);
        expect(stdout.replaceAll(/\s+/g, " ")).toContain(sentence);
        expect(stdout).not.toContain("Ada");
      }
    },
  );

  test.each([[["job", "j-1", "--output"]], [["job", "j-1", "--output", "--json"]]])("%j shows", async (args) => {
    for (const error of [newer, older]) expect(await shown(error, ...args)).toContain("about Ada");
  });
});
