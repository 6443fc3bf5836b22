/** The widget on real engines: what is shown comes out of tables and queues, and what is done is in them afterwards. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startDynalite, startDynoxide, startFauxqs, dynoxideBinary } from "../../infra/local/engines.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { createLeaseTable } from "../../lib/aws/lease-table.ts";
import { createQueueDepths } from "../../lib/aws/queue-depths.ts";
import { noProgress } from "../../lib/core/claim.ts";
import type { Claim } from "../../lib/core/claim.ts";
import { answerWidget } from "../../lib/widget/answer.ts";
import type { Widget } from "../../lib/widget/answer.ts";
import { a } from "../a.ts";
import * as engines from "../contract/engines.ts";
import { seen } from "../view/an-overview.ts";

const dynamo = await (dynoxideBinary() === undefined ? startDynalite() : startDynoxide());
const fauxqs = await startFauxqs();
const client = new DynamoDBClient(engines.localClient(dynamo.endpoint));
const sqs = new SQSClient({ ...engines.localClient(fauxqs.endpoint), useQueueUrlAsEndpoint: false });
afterAll(async () => {
  client.destroy();
  sqs.destroy();
  await Promise.all([dynamo.stop(), fauxqs.stop()]);
});

const clock = systemClock;
const config = a.config();
const target = "fast-text@us-west-2";
const endpoint = "arn:aws:lambda:us-west-2:123456789012:function:widget:live";
const troubles: string[] = [];
const parked = await engines.createQueue(fauxqs.endpoint);
const base = {
  config,
  clock,
  jobs: createJobTable(client, await engines.createJobTable(dynamo.endpoint), clock),
  leases: createLeaseTable(client, await engines.createLeaseTable(dynamo.endpoint)),
  queues: createQueueDepths(sqs, { bg: await engines.createQueue(fauxqs.endpoint), parked }),
  trouble: (what: string, error: string) => void troubles.push(`${what}: ${error}`),
};
const reading: Widget = { ...base, actions: false };
const acting: Widget = { ...base, actions: true };

async function answer(event: object = {}, widget = acting): Promise<string> {
  const said = await answerWidget({ widgetContext: { theme: "light" }, ...event }, endpoint, widget);
  if (typeof said !== "string") throw new Error("the widget described itself");
  return said;
}
const shown = async (event: object = {}, widget = acting) =>
  seen((await answer(event, widget)).replace(/<style>.*?<\/style>/s, ""));

async function claim(jobId: string): Promise<Claim> {
  const nowMs = clock.nowMs();
  const ask = a.claimAsk({
    jobId,
    nowMs,
    heldUntilMs: nowMs + 30_000,
    enqueuedAtMs: nowMs - 65_000,
    deadlineAtMs: nowMs + 3_600_000,
  });
  const { row } = await base.jobs.claim(ask);
  if (row === undefined) throw new Error("the claim left no row");
  return { jobId, holder: ask.holder, fence: row.fence };
}

beforeAll(async () => {
  const nowMs = clock.nowMs();
  const asking = await claim("asking");
  await base.jobs.extend(asking, {
    nowMs,
    heldUntilMs: nowMs + 40_000,
    stage: { stage: "attempt=2/4", stageAtMs: nowMs, step: target },
  });
  const handedBack = await claim("handed-back");
  await base.jobs.giveBack(handedBack, {
    nowMs,
    notBeforeMs: nowMs + 60_000,
    progress: { ...noProgress, requeues: 1, requests: 3 },
    stage: { stage: "requeued", stageAtMs: nowMs, step: target, cause: "capacity" },
  });
  await sqs.send(new SendMessageCommand({ QueueUrl: parked, MessageBody: "the prompt of somebody" }));
});

describe("the widget shows", () => {
  test("why each job waits, out of the table and its index", async () => {
    const said = await shown();
    expect(said).toContain(`at Bedrock ${target} works on it, attempt 2 of 4`);
    expect(said).toMatch(/requeued no step had room for it: .*, for (59 s|1 min) more/);
    expect(said).toContain("3 attempts, 1 requeue, 1 delivery");
  });

  test("each limit with the leases that are out, and what is parked", async () => {
    const said = await shown();
    expect(said).toContain(`${target} us.amazon.nova-lite-v1:0 in us-west-2 0 of 20 leases in use`);
    expect(said).toContain("parked each waits for you, with its reason messages 1");
  });

  test("no body of any message", async () => expect(await answer()).not.toContain("the prompt of somebody"));

  test("itself in the console's theme", async () => {
    expect(await answer()).toContain("color-scheme:light;");
    expect(await answer({ widgetContext: { theme: "dark" } })).toContain("color-scheme:dark;");
  });

  test("no script, and nothing that the console would take out", async () =>
    expect(await answer()).not.toMatch(/<(script|iframe|use|link|form|input)\b|\son\w+=|javascript:/));
});

test("described, it says what it is and what is needed to see it, in Markdown", async () => {
  expect(await answerWidget({ describe: true }, endpoint, reading)).toEqual({
    markdown: expect.stringMatching(/^## Sluice.*It only reads: set `widgetActions`.*lambda:InvokeFunction/s),
  });
  expect(await answerWidget({ describe: true }, endpoint, acting)).toEqual({
    markdown: expect.stringContaining("It can cancel jobs"),
  });
});

describe("without actions", () => {
  test("it has no buttons", async () => expect(await answer({}, reading)).not.toContain("cwdb-action"));

  test.each([
    { action: "cancel", jobId: "handed-back" },
    { action: "pause", name: "bg" },
    { action: "resume", name: target },
  ])("%j does nothing, and the widget says how to switch them on", async (event) => {
    const said = await shown(event, reading);
    expect(said).toContain("Nothing was done: the widget only shows.");
    expect(said).toContain("set widgetActions on the construct");
    expect((await base.jobs.read("handed-back"))?.reply).toBeUndefined();
    expect(said).not.toContain("paused");
  });
});

describe("with actions", () => {
  test("each button asks first, and calls the function itself with what it is for", async () => {
    const said = await answer();
    expect(said).toContain(
      `<cwdb-action action="call" display="widget" endpoint="${endpoint}" confirmation="Cancel job asking? Its reply will be cancelled.">{&quot;action&quot;:&quot;cancel&quot;,&quot;jobId&quot;:&quot;asking&quot;}</cwdb-action>`,
    );
    expect(said.match(/<a class="btn">[^<]*<\/a><cwdb-action /g)).toHaveLength(
      said.match(/<cwdb-action/g)?.length ?? 0,
    );
  });

  test("a job that waits is cancelled at once", async () => {
    await claimAndGiveBack("to-cancel");
    expect(await shown({ action: "cancel", jobId: "to-cancel" })).toContain("Job to-cancel is cancelled.");
    expect(JSON.parse((await base.jobs.read("to-cancel"))?.reply ?? "{}")).toMatchObject({ status: "cancelled" });
    expect(await shown({ action: "cancel", jobId: "to-cancel" })).toContain("job to-cancel had ended before");
  });

  test("the worker of one that runs is asked", async () => {
    await claim("running");
    expect(await shown({ action: "cancel", jobId: "running" })).toContain(
      "Job running is running: its worker was asked",
    );
    expect(await base.jobs.read("running")).toMatchObject({ cancelAsked: true });
  });

  test("a job that nobody has seen is none", async () => {
    expect(await shown({ action: "cancel", jobId: "typo" })).toContain(
      "Nothing was done: no worker has seen a job typo.",
    );
    expect(await base.jobs.read("typo")).toBeUndefined();
  });

  test("a target that was taken out has a button that takes it back: what is said to be resumed takes jobs", async () => {
    await base.leases.setOverride({ kind: "ledger", name: target, override: { limit: 3, out: true } });
    expect(await shown()).toContain("taken out by an operator");
    expect(await answer()).toContain(`{&quot;action&quot;:&quot;resume&quot;,&quot;name&quot;:&quot;${target}&quot;}`);
    const said = await shown({ action: "resume", name: target });
    expect(said).toContain(`${target} is resumed`);
    expect(said).not.toContain("taken out");
    expect(said).toContain("limit set to 3");
    await base.leases.setOverride({ kind: "ledger", name: target });
  });

  test.each(["bulk", target])("%s is paused, shown as paused, and resumed", async (name) => {
    const said = await shown({ action: "pause", name });
    expect(said).toContain(`${name} is paused until it is resumed`);
    expect(said).toMatch(/paused( by an operator)?, until resumed/);
    expect(await answer()).toContain(`{&quot;action&quot;:&quot;resume&quot;,&quot;name&quot;:&quot;${name}&quot;}`);
    expect(await shown({ action: "resume", name })).not.toMatch(/paused( by an operator)?, until/);
  });

  test("what is no lane and no limit is refused as text", async () => {
    const said = await answer({ action: "pause", name: "<img src=x>" });
    expect(said).not.toContain("<img");
    expect(seen(said)).toContain("Nothing was done: name is neither a lane nor a limit of the config");
  });
});

describe("when AWS refuses", () => {
  const failing = (name: string): Widget => ({
    ...acting,
    queues: { read: () => Promise.reject(Object.assign(new Error("arn:aws:sqs:…"), { name })) },
  });

  test.each([
    ["AccessDeniedException", "A right is missing: deploy the stack again"],
    ["ResourceNotFoundException", "A table or a queue is gone: deploy the stack again"],
    ["ThrottlingException", "refresh in a minute"],
    ["TimeoutError", "did not answer in time"],
    ["SomethingElse", "the log has the error by this name"],
  ])("%s is shown with what to do, and logged", async (name, remedy) => {
    troubles.length = 0;
    const said = await shown({}, failing(name));
    expect(said).toContain(`What is open could not be read: ${name}.`);
    expect(said).toContain(remedy);
    expect(said).not.toContain("arn:aws");
    expect(troubles).toEqual([`widget: what is open could not be read: ${name}`]);
  });

  test("what was done is told though it cannot be shown", async () => {
    await claimAndGiveBack("done-unseen");
    expect(await shown({ action: "cancel", jobId: "done-unseen" }, failing("TimeoutError"))).toContain(
      "Job done-unseen is cancelled.",
    );
  });
});

async function claimAndGiveBack(jobId: string): Promise<void> {
  const nowMs = clock.nowMs();
  const stage = { stage: "requeued", stageAtMs: nowMs };
  await base.jobs.giveBack(await claim(jobId), { nowMs, notBeforeMs: nowMs + 60_000, progress: noProgress, stage });
}
