import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SendMessageCommand } from "@aws-sdk/client-sqs";

import { outputOf, queueUrl } from "../../infra/local/service.ts";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import { isObject } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { changeOverride } from "../../lib/operate/set-override.ts";
import { job, write } from "../local/files.ts";
import { temporaryFolder } from "../temporary.ts";
import { serve } from "./service.ts";
import type { Ended, Served } from "./service.ts";

const folder = temporaryFolder("cli");
const alone = { model: "fast-text@us-west-2", fallback: "none" };
let service: Served;

beforeAll(async () => {
  service = await serve({
    latency: 5,
    rules: [
      { when: { jobId: "slow-1" }, do: { kind: "answer" }, latency: 100_000 },
      { when: { jobId: "waits" }, do: { kind: "fail", error: "throttled", retryAfter: "600" } },
    ],
  });
}, 60_000);
afterAll(() => service.close());

/** The one document on stdout. */
function documentOf({ stdout }: Ended): JsonObject {
  const value: unknown = JSON.parse(stdout);
  if (!isObject(value)) throw new Error("no document");
  return value;
}

/** Asked again until it answers so: workers, queues and sweeps take their time. */
async function until(args: readonly string[], holds: (document: JsonObject) => boolean): Promise<JsonObject> {
  for (;;) {
    const document = documentOf(await service.sluice(...args, "--json"));
    if (holds(document)) return document;
  }
}

describe.concurrent("npx sluice", { timeout: 300_000 }, () => {
  test("sends a file, waits, writes the replies and sums up; again, it sends nothing", async () => {
    const file = write(folder, "sent.jsonl", [
      job("a-1"),
      job("a-2", { lane: "bg" }),
      job("a-1"),
      "no job",
      job("a-3"),
    ]);
    const replies = join(folder, "sent-replies.jsonl");
    const first = await service.sluice("submit", file, "--lane", "rt", "--replies", replies, "--json");
    expect(first.code).toBe(1);
    expect(first.stderr).toContain("sent.jsonl:4: line is not JSON; a line is one whole job");
    expect(documentOf(first)).toMatchObject({
      jobs: 3,
      sent: 3,
      succeeded: 3,
      open: 0,
      copies: 1,
      linesRefused: 1,
      answeredBefore: 0,
      interrupted: false,
    });
    expect(documentOf(first)["costUsd"]).toBeGreaterThan(0);
    const told = readFileSync(replies, "utf8")
      .trim()
      .split("\n")
      .map((line): { readonly jobId: string; readonly status: string } => JSON.parse(line));
    expect(told.map(({ jobId, status }) => `${jobId} ${status}`).toSorted()).toEqual([
      "a-1 succeeded",
      "a-2 succeeded",
      "a-3 succeeded",
    ]);

    const again = await service.sluice("submit", file, "--wait");
    expect(again.stdout).toContain("3 jobs had been answered before and were not sent again");
    expect(service.bedrockRecord()?.jobs["a-1"]).toMatchObject({ calls: 1 });
  });

  test("notices an id that was used for other content, in the table and in the file", async () => {
    await service.sluice("submit", write(folder, "first.jsonl", [job("used")]), "--wait");
    const other = write(folder, "other.jsonl", [
      job("used", { model: "smart-text" }),
      job("twice"),
      job("twice", { model: "smart-text" }),
    ]);
    const ended = await service.sluice("submit", other, "--wait", "--json");
    expect(ended.code).toBe(1);
    expect(documentOf(ended)).toMatchObject({ sent: 1, notSent: 1, linesRefused: 1, codes: { job_id_reused: 1 } });
    expect(ended.stderr).toContain("used: the id was used for other content; give it another jobId");
    expect(ended.stderr).toContain("twice is in the file twice, with other content; give it another jobId");
  });

  test("tells the life of a job, its content only when asked", async () => {
    await service.sluice("submit", write(folder, "life.jsonl", [job("life")]), "--wait");
    const { code, stdout } = await service.sluice("job", "life");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^life {2}succeeded\n\nwhen +ago +what\n/);
    expect(stdout).toMatch(/queued in bg\n.*first taken by a worker\n.*succeeded by fast-text@us-west-2\n/);
    expect(stdout).not.toContain('"output"');
    expect((await service.sluice("job", "life", "--output")).stdout).toContain('"output"');
    expect(documentOf(await service.sluice("job", "life", "--json"))).not.toHaveProperty("reply.output");
    expect(documentOf(await service.sluice("job", "life", "--json", "--output"))).toHaveProperty("reply.output");
    expect(await service.sluice("job", "nobody")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("nobody: no worker has taken it"),
    });
  });

  test("says why a job waits, and cancels it; one that has ended stays as it is", async () => {
    const name = "smart-text@us-east-1";
    await service.sluice("submit", write(folder, "waits.jsonl", [job("waits", { model: name, fallback: "none" })]));
    const open = await until(["jobs"], ({ jobs }) => JSON.stringify(jobs).includes('"doing":"requeued"'));
    const why = "no step had room for it: their leases were out, or Bedrock throttled";
    expect(open["jobs"]).toContainEqual(expect.objectContaining({ jobId: "waits", lane: "bg", why }));
    expect((await service.sluice("jobs")).stdout).toMatch(
      /\nwaits +bg .* requeued +in \d+ min.* no step had room for it/,
    );
    expect((await service.sluice("job", "waits")).stdout).toMatch(
      /^waits {2}requeued\n {2}why +no step had room for it/,
    );
    expect((await service.sluice("targets")).stdout).toMatch(
      /smart-text@us-east-1 .* paused by a throttle, ends in \d+ min/,
    );

    const cancelled = await service.sluice("cancel", "waits", "never-seen", "--json");
    expect(documentOf(cancelled)["jobs"]).toEqual([
      { jobId: "waits", outcome: "cancelled" },
      { jobId: "never-seen", outcome: "unseen" },
    ]);
    expect(cancelled.code).toBe(0);
    const late = await service.sluice("cancel", "waits");
    expect(late).toMatchObject({ code: 1, stdout: expect.stringContaining("had ended before; its reply stands") });
    expect((await service.sluice("jobs", "--status", "cancelled")).stdout).toContain("waits");
  });

  test("pauses and resumes a target and a lane; a limit set stays beside it", async () => {
    const name = "smart-text@us-west-2";
    const paused = await service.sluice("pause", name, "--for", "15m");
    expect(paused).toMatchObject({ code: 0, stdout: expect.stringContaining(`${name} is paused, ends in 15 min`) });
    expect(documentOf(await service.sluice("limit", name, "3", "--json"))).toMatchObject({
      name,
      override: { limit: 3 },
    });
    const both = /smart-text@us-west-2 +\d+ +3 +30 +closed +paused by an operator, ends in 14 min.*; limit set to 3\n/;
    expect((await service.sluice("targets")).stdout).toMatch(both);
    expect(documentOf(await service.sluice("resume", name, "--json"))).toEqual({ name, override: { limit: 3 } });
    expect(documentOf(await service.sluice("limit", name, "default", "--json"))).toEqual({ name, override: {} });

    expect((await service.sluice("pause", "bulk")).stdout).toContain("bulk is paused, until it is resumed");
    expect((await service.sluice("targets")).stdout).toContain("the lane bulk is paused, until it is resumed");
    expect(documentOf(await service.sluice("resume", "bulk", "--json"))).toEqual({ name: "bulk", override: {} });

    const above = await service.sluice("limit", name, "31");
    expect(above).toMatchObject({ code: 2, stdout: "" });
    expect(above.stderr).toContain("the config's maximum of smart-text@us-west-2 is 30");
    expect((await service.sluice("limit", name, "0")).stderr).toContain("npx sluice pause stops a target");
    expect((await service.sluice("pause", "fast-txt@us-west-2")).stderr).toContain("did you mean fast-text@us-west-2?");
  });

  test("takes back what was said of a target that the config no longer has, and knows no other of it", async () => {
    const gone = "gone-text@us-west-2";
    const leases = createLeaseTable(service.clients.dynamo, outputOf(service, "leaseTableName"));
    await changeOverride(leases, gone, { limit: 3, pausedUntilMs: 1_900_000_000_000 });
    expect((await service.sluice("limit", gone, "2")).stderr).toContain(`the config has no ${gone}`);
    expect((await service.sluice("limit", gone, "default")).stdout).toContain(`npx sluice resume ${gone} takes back`);
    await changeOverride(leases, gone, { limit: 3 });
    expect(documentOf(await service.sluice("resume", gone, "--json"))).toEqual({ name: gone, override: { limit: 3 } });
    expect((await service.sluice("limit", gone, "default")).stdout).toContain("nothing stands for it");
    for (const command of [
      ["resume", gone],
      ["limit", gone, "default"],
      ["limit", "bulk", "default"],
    ])
      expect(await service.sluice(...command)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("the config has no "),
      });
  });

  test("lists, shows, runs again and deletes what is parked, nothing without a choice", async () => {
    await service.clients.sqs.send(
      new SendMessageCommand({ QueueUrl: queueUrl(service, "bg"), MessageBody: "no job at all" }),
    );
    await service.sluice("submit", write(folder, "good.jsonl", [job("good")]), "--wait");
    const bad = { ...job("good"), params: "none" };
    await service.clients.sqs.send(
      new SendMessageCommand({
        QueueUrl: queueUrl(service, "bg"),
        // Other content; of a model that no test beside this one pauses, for a pause would last longer than any test.
        MessageBody: JSON.stringify(job("good", { operation: "another" })),
      }),
    );
    await service.clients.sqs.send(
      new SendMessageCommand({ QueueUrl: queueUrl(service, "bg"), MessageBody: JSON.stringify(bad) }),
    );
    const list = await until(["parked", "list"], ({ messages }) => Array.isArray(messages) && messages.length === 3);
    expect(list["messages"]).toContainEqual(
      expect.objectContaining({ reason: "job_id_reused", jobId: "good", lane: "bg" }),
    );

    const table = await service.sluice("parked", "list", "--reason", "not_an_envelope");
    expect(table.stdout).toMatch(/^message .*\n.* not_an_envelope .*\n1 message\n$/);
    expect(await service.sluice("parked", "delete")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--dry-run shows them"),
    });
    expect((await service.sluice("parked", "delete", "--reason", "not_an_envelope", "--dry-run")).stdout).toContain(
      "nothing was done",
    );
    expect((await service.sluice("parked", "delete", "--reason", "not_an_envelope")).stdout).toContain(
      "1 message deleted",
    );

    const shown = await service.sluice("parked", "show", "good");
    expect(shown.stdout).toContain("job_id_reused");
    expect(shown.stdout).not.toContain("Say hello to Ada");
    expect((await service.sluice("parked", "show", "good", "--params")).stdout).toContain("Say hello to Ada");

    const again = await service.sluice("parked", "rerun", "good", "--rate", "50", "--json");
    expect(again.code).toBe(1);
    expect(documentOf(again)["jobs"]).toContainEqual(
      expect.objectContaining({ was: "good", jobId: "good~2", lane: "bg" }),
    );
    expect(documentOf(again)["jobs"]).toContainEqual(
      expect.objectContaining({ refused: expect.stringContaining("params") }),
    );
    await until(["job", "good~2"], ({ reply }) => isObject(reply) && reply["status"] === "succeeded");
    expect((await service.sluice("parked", "delete", "--yes")).stdout).toContain("1 message deleted");
  });

  test("shows the leases that are out, and whose they are, while a request is at Bedrock", async () => {
    await service.sluice("submit", write(folder, "slow.jsonl", [job("slow-1", alone)]));
    const isTold = ({ leases }: JsonObject) => JSON.stringify(leases).includes("slow-1");
    const { leases } = await until(["leases"], isTold);
    expect(leases).toContainEqual(expect.objectContaining({ ledger: "fast-text@us-west-2", hasLapsed: false }));
    expect((await service.sluice("leases")).stdout).toMatch(
      /^limit .*\n(.*\n)*fast-text@us-west-2 .* in [\d.]+ s .*\n/,
    );
    await service.sluice("cancel", "slow-1");
  });
});
