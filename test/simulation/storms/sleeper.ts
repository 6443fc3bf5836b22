import { jobOf } from "../../../lib/core/job.ts";
import type { Delivery } from "../../../lib/core/job.ts";
import { readBody } from "../../../lib/core/feeds.ts";
import { plan } from "../../../lib/core/plan.ts";
import { replyTtlS } from "../../../lib/core/reply.ts";
import type { Worker } from "../../../lib/worker/invocation.ts";
import { Meter } from "../../../lib/worker/meter.ts";

const pausesMs = [15_000, 30_000, 60_000];

/**
 * The worker that most people write first: it asks until it is answered, by our own schedule for a target that is full,
 * but it sleeps where ours hands the message back.
 */
export async function sleepInstead(worker: Worker, records: readonly Delivery[]): Promise<readonly string[]> {
  const { clock, models, jobs, telemetry } = worker.world;
  const meter = new Meter(() => clock.nowMs());

  async function answer(delivery: Delivery): Promise<void> {
    const read = readBody(delivery.body);
    if (read.kind !== "envelope" || read.envelope.params === undefined) return;
    const { params, op, jobId } = read.envelope;
    const planned = plan(jobOf(read.envelope, delivery, jobId), worker.config);
    const step = planned.kind === "unknown-model" ? undefined : planned.steps[0];
    if (step === undefined) return;
    for (let failures = 0; ; failures += 1) {
      meter.set(delivery, "asking");
      const asked = await models.ask({ step, op, params, jobId }, new AbortController().signal);
      meter.set(delivery, "waiting");
      if (asked.kind === "answered") break;
      await clock.sleep((pausesMs[failures] ?? 60_000) * (0.5 + 0.5 * clock.jitter()));
    }
    meter.forget(delivery);
    const nowMs = clock.nowMs();
    const reply = JSON.stringify({ jobId, ok: true });
    await jobs.replyUnclaimed(jobId, {
      nowMs,
      reply,
      status: "succeeded",
      ttlS: replyTtlS(nowMs, 1),
      contentHash: jobId,
    });
  }

  await Promise.all(records.map(answer));
  telemetry.note({ kind: "invoked", records: records.length, ...meter.read() });
  return [];
}
