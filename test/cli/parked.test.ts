import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { refused, startStandIn } from "./stand-in.ts";
import type { StandIn } from "./stand-in.ts";

const outputs = join(temporaryFolder("cli-parked"), "outputs.json");
const url = (name: string) => `https://sqs.us-west-2.amazonaws.com/123456789012/${name}`;
const queues = ["rt", "bg", "bulk", "parked"].map((name) => [`${name}QueueUrl`, url(name)]);
writeFileSync(
  outputs,
  JSON.stringify({
    Sluice: { jobTableName: "jobs", repliesBucketName: "replies", ...Object.fromEntries(queues) },
  }),
);

let sqs: StandIn;
beforeAll(async () => {
  sqs = await startStandIn();
});
afterAll(() => sqs.stop());

/** CSI, as one character that SQS takes, and a line that would stand there as one of the command's own. */
const hostile = "\u009B2J\u009B1;31mgood\nnothing is parked";

function message(id: string, jobId: string) {
  const body = "no job at all";
  const attributes = { reason: hostile, jobId, detail: hostile, lane: hostile };
  const texts = Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]);
  return {
    MessageId: id,
    ReceiptHandle: id,
    Body: body,
    MD5OfBody: createHash("md5").update(body).digest("hex"),
    Attributes: { SentTimestamp: "1795960000000" },
    MessageAttributes: Object.fromEntries(texts),
  };
}

function sluice(...args: readonly string[]) {
  return run([...args, "--outputs", outputs, "--endpoint", sqs.endpoint], {
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
  });
}

describe("messages that somebody else has parked", { timeout: 60_000 }, () => {
  test.each([["list"], ["show", "message-1", "--params"], ["list", "--json"], ["delete", "--yes", "--dry-run"]])(
    "parked %s writes nothing of theirs that moves the cursor, nor a line of its own",
    async (...args) => {
      sqs.instead = { ReceiveMessage: { body: { Messages: [message("message-1", hostile)] } } };
      const { code, stdout } = await sluice("parked", ...args);
      expect([code, stdout]).toEqual([0, expect.stringContaining("good")]);
      expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
      expect(stdout.split("\n")).not.toContain("nothing is parked");
    },
  );

  test("are chosen by a dry run of rerun, and refused by rerun where they hold no job", async () => {
    sqs.instead = { ReceiveMessage: { body: { Messages: [message("message-1", "first")] } } };
    const dry = await sluice("parked", "rerun", "--dry-run", "--json");
    expect(JSON.parse(dry.stdout).jobs).toMatchObject([{ kind: "chosen", was: "first" }]);
    expect(dry.code).toBe(0);
    const rerun = await sluice("parked", "rerun", "--yes", "--json");
    expect(JSON.parse(rerun.stdout).jobs).toMatchObject([{ kind: "refused", was: "first" }]);
    expect(rerun.code).toBe(1);
  });

  test("are named where they were deleted before the next could not be", async () => {
    let deletes = 0;
    sqs.instead = {
      ReceiveMessage: { body: { Messages: [message("message-1", "first"), message("message-2", "second")] } },
      get DeleteMessage() {
        deletes += 1;
        return deletes === 1 ? { body: {} } : refused("AccessDeniedException", "not any more");
      },
    };
    const { code, stdout, stderr } = await sluice("parked", "delete", "--yes");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^message .*\n.* first .*\n1 message deleted\nBroken off: there may be more\./);
    expect(stderr).toContain("not any more");
    expect(stdout).not.toContain("second");
  });
});
