/**
 * What a worker's memory does over many jobs: one environment, its heap bounded as Lambda bounds a function of its size,
 * runs a bulk queue to its end. Prints the most memory so far after every block of jobs; `npm run bench:memory`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { clientOn } from "../../lib/client/client.ts";
import type { Job } from "../../lib/client/index.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { createOutputs } from "../../lib/client/outputs.ts";

const jobs = Number(process.argv[2] ?? 5_000);
const block = 500;
const rssMbMax = 200;

const logDirectory = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const options = { limits: {}, bedrock: "stand-in", script: { latency: 20 }, logDirectory, environmentsMax: 1 } as const;
const service = await openService(options, () => undefined);
try {
  const url = queueUrl(service, "bulk");
  const client = clientOn({
    outbox: createOutbox(service.clients.sqs, service.clients.s3, { rt: url, bg: url, bulk: url }),
    outputs: createOutputs(service.clients.s3),
    jobs: createJobTable(service.clients.dynamo, outputOf(service, "jobTableName"), systemClock),
    clock: systemClock,
    ttlDays: 1,
  });
  const prompt = "Summarise the complaint of this order, and keep every number in it. ".repeat(30);
  const jobOf = (index: number): Job => ({
    jobId: `bench-${index}`,
    model: "fast-text",
    op: "converse",
    lane: "bulk",
    params: { messages: [{ role: "user", content: [{ text: `${index}. ${prompt}` }] }] },
  });

  console.log("jobs answered   most memory of the worker, MB");
  let firstMb = 0;
  let lastMb = 0;
  for (let from = 0; from < jobs; from += block) {
    const ids = Array.from({ length: Math.min(block, jobs - from) }, (_, index) => from + index);
    await client.submitBatch(ids.map(jobOf));
    const names = ids.map((index) => jobOf(index).jobId);
    while ((await client.replies(names)).some(({ kind }) => kind === "open")) await sleep(500);
    lastMb = Math.round(service.stats().rssBytesMax / 2 ** 20);
    if (from === block) firstMb = lastMb;
    console.log(`${String(from + ids.length).padStart(13)}   ${lastMb}`);
  }
  const { started, died } = service.stats();
  console.log(
    `${started} process, ${died} died; grown by ${lastMb - firstMb} MB since job ${2 * block}; the bound is ${rssMbMax} MB`,
  );
  process.exitCode = lastMb <= rssMbMax && died === 0 ? 0 : 1;
} finally {
  await service.close();
  rmSync(logDirectory, { recursive: true, force: true });
}
