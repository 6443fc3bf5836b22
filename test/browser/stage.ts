/** The whole local service with its page, and a headless Chromium that looks at it. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

import { createLookout } from "../../infra/local/page/lookout.ts";
import type { Measured } from "../../infra/local/page/measured.ts";
import type { Page as LocalPage } from "../../infra/local/page/server.ts";
import type { Watching } from "../../infra/local/page/watch.ts";
import { openService, outputOf, queueUrl } from "../../infra/local/service.ts";
import type { Service } from "../../infra/local/service.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { clientOn } from "../../lib/client/client.ts";
import type { Client, Job, JobOf } from "../../lib/client/index.ts";
import { createOutbox } from "../../lib/client/outbox.ts";
import { createOutputs } from "../../lib/client/outputs.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { noProgress } from "../../lib/core/claim.ts";
import { holdMs } from "../../lib/core/limits.ts";
import type { JobTable } from "../../lib/ports.ts";
import { a } from "../a.ts";

export interface Stage {
  readonly service: Service;
  readonly page: LocalPage & { readonly watching: Watching };
  readonly measured: Measured;
  readonly client: Client;
  readonly jobs: JobTable;
  /** A body as some sender writes it, straight into a queue. */
  readonly sendBody: (queue: "bg" | "parked", body: string, reason?: string) => Promise<void>;
  close(): Promise<void>;
}

export async function openStage(script: ScriptText, limits: Readonly<Record<string, number>> = {}): Promise<Stage> {
  process.env["CDK_VALIDATION"] ??= "false";
  const logDirectory = mkdtempSync(join(tmpdir(), "sluice-browser-"));
  const lookout = createLookout();
  const { hear } = lookout;
  const service = await openService(
    { limits, bedrock: "stand-in", script, logDirectory, environmentsMax: 2, hear },
    () => undefined,
  );
  const page = await lookout.open(0, service);
  const { clients } = service;
  const jobs = createJobTable(clients.dynamo, outputOf(service, "jobTableName"), systemClock);
  const queueUrls = { rt: queueUrl(service, "rt"), bg: queueUrl(service, "bg"), bulk: queueUrl(service, "bulk") };
  const client = clientOn({
    outbox: createOutbox(clients.sqs, clients.s3, queueUrls),
    jobs,
    outputs: createOutputs(clients.s3),
    clock: systemClock,
    ttlDays: 1,
  });
  return {
    service,
    page,
    measured: lookout.measured,
    client,
    jobs,
    async sendBody(queue, body, reason) {
      const attributes = reason === undefined ? {} : { reason: { DataType: "String", StringValue: reason } };
      await clients.sqs.send(
        new SendMessageCommand({
          QueueUrl: queueUrl(service, queue),
          MessageBody: body,
          MessageAttributes: attributes,
        }),
      );
    },
    async close() {
      await page.close();
      await service.close();
      rmSync(logDirectory, { recursive: true, force: true });
    },
  };
}

/** Chromium as the system has it: nothing is downloaded. `CHROMIUM` names another. */
export async function openBrowser(): Promise<Browser> {
  const { CHROMIUM } = process.env;
  const places =
    CHROMIUM === undefined ? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"] : [CHROMIUM];
  const executablePath = places.find((place) => existsSync(place));
  if (executablePath === undefined)
    throw new Error(
      `no Chromium at ${places.join(", ")}; install one (Debian: apt-get install chromium), or name it in CHROMIUM`,
    );
  // Its own sandbox wants rights that a container has not; it sees nothing but this machine's page.
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

export function job(jobId: string, facts: Partial<Omit<JobOf<"converse">, "op" | "params" | "paramsRef">> = {}): Job {
  return {
    jobId,
    model: "fast-text",
    op: "converse",
    params: { messages: [{ role: "user", content: [{ text: `Secret prompt of ${jobId}.` }] }] },
    ...facts,
  };
}

/** One of each that is worth looking at: at Bedrock, waiting, requeued, paused, behind an open breaker, parked. */
export const busyScript: ScriptText = {
  seed: 11,
  rules: [
    { when: { jobId: "report-*" }, do: { kind: "answer" }, latency: 90_000 },
    { when: { region: "us-east-1", modelId: "us.amazon.*" }, do: { kind: "fail", error: "internal" } },
    {
      when: { jobId: "digest-*", nth: { to: 3, of: "job" } },
      do: { kind: "fail", error: "throttled", retryAfter: "45" },
    },
  ],
  latency: { meanMs: 700, sigma: 0.6 },
};

export const busyLimits = { "fast-text@us-west-2": 4 } as const;

export async function fillBusy({ client, sendBody, page }: Stage): Promise<void> {
  const pinned = { model: "fast-text@us-west-2", fallback: "none" as const };
  await page.watching.pause("bulk");
  await client.submitBatch([
    job("report-2026-11-a", pinned),
    job("report-2026-11-b", pinned),
    job("report-2026-11-c", { ...pinned, lane: "rt" }),
    job("report-2026-11-d", { ...pinned, lane: "rt" }),
    job("order-8812-summary", pinned),
    job("digest-monday", { model: "smart-text@us-west-2", fallback: "none" }),
    job("archive-a", { lane: "bulk" }),
    ...Array.from({ length: 2 }, (_, place) =>
      job(`east-${place}`, { model: "fast-text@us-east-1", fallback: "none" }),
    ),
    ...Array.from({ length: 24 }, (_, place) => job(`ticket-${place}`, { model: "smart-text@us-east-1" })),
  ]);
  await sendBody("parked", JSON.stringify(job("order-7001-summary")), "dead_letter");
  await sendBody("bg", "{ not: json");
}

/** Jobs that workers have had in hand and handed back, straight into the table: it would take them minutes. */
export async function handBack({ jobs }: Stage, count: number): Promise<void> {
  const atOnce = 40;
  for (let first = 0; first < count; first += atOnce) {
    const block = Array.from({ length: Math.min(atOnce, count - first) }, (_, place) => `mass-${first + place}`);
    await Promise.all(
      block.map(async (jobId) => {
        const nowMs = Date.now();
        const ask = a.claimAsk({
          jobId,
          lane: "bulk",
          nowMs,
          heldUntilMs: nowMs + holdMs,
          enqueuedAtMs: nowMs,
          deadlineAtMs: nowMs + 3_600_000,
        });
        await jobs.claim(ask);
        const stage = { stage: "requeued", stageAtMs: nowMs, cause: "capacity" as const };
        const back = { nowMs, notBeforeMs: nowMs + 600_000, progress: noProgress, stage };
        await jobs.giveBack({ jobId, holder: ask.holder, fence: 1 }, back);
      }),
    );
  }
}
