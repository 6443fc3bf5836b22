/** A minute without DynamoDB, on engines. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";

import { startDynamo } from "../../infra/local/engines.ts";
import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { clientOn } from "../../lib/client/client.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { createOutputs } from "../../lib/client/outputs.ts";
import type { Reply } from "../../lib/core/reply.ts";

/** A wire that can be cut: what was under way is lost, and nobody gets through. */
async function wireTo(endpoint: string) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(new URL(endpoint).port), "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on("error", () => undefined).on("close", () => other.destroy());
      one.pipe(other);
    }
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    close: () => server.close(),
  };
}

afterEach(() => vi.unstubAllEnvs());

test("every answer that Bedrock gave while DynamoDB was away is stored afterwards, and none was asked for twice", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-outage-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const dynamo = await startDynamo();
  onTestFinished(() => dynamo.stop());
  const wire = await wireTo(dynamo.endpoint);
  onTestFinished(() => void wire.close());
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", wire.endpoint);

  const options = { limits: {}, bedrock: "stand-in", script: { latency: 12_000 }, logDirectory: folder } as const;
  const service = await openService({ ...options, environmentsMax: 4 }, () => undefined);
  onTestFinished(() => service.close());
  const jobs = createJobTable(service.clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const urls = { rt: queueUrl(service, "rt"), bg: queueUrl(service, "bg"), bulk: queueUrl(service, "bulk") };
  const outbox = createOutbox(service.clients.sqs, service.clients.s3, urls);
  const client = clientOn({
    outbox,
    outputs: createOutputs(service.clients.s3),
    jobs,
    clock: systemClock,
    ttlDays: 7,
    bucket: outputOf(service, "repliesBucketName"),
  });

  const params = { messages: [{ role: "user" as const, content: [{ text: "Say hello to Ada." }] }] };
  const ids = Array.from({ length: 10 }, (_, n) => `job-${n}`);
  await client.submitBatch(ids.map((jobId) => ({ jobId, model: "fast-text", op: "converse" as const, params })));
  const calls = () => service.bedrockRecord()?.calls ?? [];
  while (calls().length < ids.length) await sleep(50);
  wire.cut();
  await sleep(60_000);
  expect(calls()).toHaveLength(ids.length);
  wire.mend();

  for (;;) {
    const rows = await jobs.readMany(ids);
    if (rows.filter(({ reply }) => reply !== undefined).length === ids.length) break;
    await sleep(500);
  }
  const replies = (await jobs.readMany(ids)).map(({ reply = "" }): Reply => JSON.parse(reply));
  expect(replies.map(({ status }) => status)).toEqual(ids.map(() => "succeeded"));
  expect(
    calls()
      .map(({ jobId = "" }) => jobId)
      .toSorted(),
  ).toEqual(ids);
}, 150_000);
