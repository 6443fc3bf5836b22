/** A batch of jobs whose pictures would not go into one function's memory together, on engines. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterEach, expect, test, vi } from "vitest";

import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { replyIn } from "../../lib/core/reply.ts";

/** What an object of this size is read from: the engine for S3 takes no body of so many megabytes. */
async function bucketOf(objects: ReadonlyMap<string, string>) {
  const server = createServer((request, response) => {
    const body = objects.get(decodeURIComponent(new URL(request.url ?? "", "http://s3").pathname));
    if (request.method === "PUT") return request.resume().once("end", () => response.end());
    response.writeHead(body === undefined ? 404 : 200, { "content-length": Buffer.byteLength(body ?? "") });
    return response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, close: () => server.close() };
}

afterEach(() => vi.unstubAllEnvs());

test("eight pictures of 25 MB in one batch are answered by one request each, within a function's 512 MB", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-pictures-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const objects = new Map<string, string>();
  const s3 = await bucketOf(objects);
  onTestFinished(() => void s3.close());
  vi.stubEnv("AWS_ENDPOINT_URL_S3", s3.endpoint);

  const options = { limits: {}, bedrock: "stand-in", script: { latency: 2_000 }, logDirectory: folder } as const;
  const service = await openService({ ...options, environmentsMax: 1 }, () => undefined);
  onTestFinished(() => service.close());
  const jobs = createJobTable(service.clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const bucket = outputOf(service, "repliesBucketName");

  const ids = Array.from({ length: 8 }, (_, index) => `picture-${index}`);
  for (const jobId of ids) {
    const bytes = Buffer.alloc(18_750_000, jobId).toString("base64");
    const content = [{ text: "What is on it?" }, { image: { format: "png", source: { bytes } } }];
    objects.set(`/${bucket}/params/${jobId}.json`, JSON.stringify({ messages: [{ role: "user", content }] }));
  }
  for (const jobId of ids) {
    const paramsRef = `s3://${bucket}/params/${jobId}.json`;
    const MessageBody = JSON.stringify({ jobId, model: "fast-text", op: "converse", paramsRef });
    await service.clients.sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(service, "bulk"), MessageBody }));
  }

  const replies = async () => (await jobs.readMany(ids)).map(replyIn);
  while ((await replies()).filter((reply) => reply !== undefined).length < ids.length) await sleep(500);
  expect((await replies()).map((reply) => reply?.status)).toEqual(ids.map(() => "succeeded"));
  for (const jobId of ids) expect(service.bedrockRecord()?.jobs[jobId]).toMatchObject({ calls: 1 });
  expect(service.stats()).toMatchObject({ started: 1, died: 0 });
  expect(service.stats().rssBytesMax / 2 ** 20).toBeLessThan(512);
}, 300_000);
