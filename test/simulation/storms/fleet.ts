/** Many jobs at once through one lane's mapping, as wide as the stack makes it, over wires that take their time. */
import { laneMapping } from "../../../infra/concurrency.ts";
import { deliveryOf } from "../../../lib/core/batch.ts";
import type { Config } from "../../../lib/core/config.ts";
import type { Delivery } from "../../../lib/core/job.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import { laneLimits } from "../../../lib/core/limits.ts";
import type { Noted } from "../../../lib/core/noted.ts";
import type { Reply } from "../../../lib/core/reply.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import { createMemoryWorker, createMemoryWorld } from "../../../lib/memory/world.ts";
import type { MemoryWorld } from "../../../lib/memory/world.ts";
import type { World } from "../../../lib/ports.ts";
import type { Worker } from "../../../lib/worker/invocation.ts";
import { processBatch } from "../../../lib/worker/process-batch.ts";
import { t0 } from "../../a.ts";

export interface Load {
  readonly lane: Lane;
  readonly config: Config;
  /** Of every other worker, where two versions are at work. */
  readonly otherConfig?: Config;
  /** The model that a job asks for, by its number; default `fast`. */
  readonly modelOf?: (job: number) => string;
  readonly script: ScriptText;
  /** When each job is sent, ms after the start. */
  readonly sendsMs: readonly number[];
  readonly untilMs: number;
  /** What the workers see of the world. */
  readonly around?: (world: World) => World;
  /** Another worker than ours, for comparison. */
  readonly handler?: (worker: Worker, records: readonly Delivery[], endsAtMs: number) => Promise<readonly string[]>;
}

export type Seen = Noted & { readonly atMs: number };

export interface Outcome {
  readonly replies: readonly Reply[];
  /** All that the workers noted, times from the start. */
  readonly noted: readonly Seen[];
  readonly world: MemoryWorld;
  /** Requests to Bedrock, their times from the start. */
  readonly requests: readonly { readonly region: string; readonly jobId?: string; readonly atMs: number }[];
  readonly receives: number;
}

const wireMs = { jobs: 4, leases: 4, queue: 10 };

/** Every call takes so long, half of it on the way there. */
function slowly<Port extends object>(port: Port, ms: number, clock: World["clock"]): Port {
  return new Proxy(port, {
    get(target, name, receiver) {
      const verb: unknown = Reflect.get(target, name, receiver);
      if (typeof verb !== "function") return verb;
      return async (...ask: unknown[]) => {
        await clock.sleep(ms / 2);
        const answer: unknown = await Reflect.apply(verb, target, ask);
        await clock.sleep(ms / 2);
        return answer;
      };
    },
  });
}

export async function run({
  lane,
  config,
  otherConfig,
  modelOf = () => "fast",
  script,
  sendsMs,
  untilMs,
  around,
  handler = processBatch,
}: Load): Promise<Outcome> {
  const world = createMemoryWorld({ startMs: t0, lane, seed: 7, script });
  const { clock, queue } = world;
  const noted: Seen[] = [];
  const wired: World = {
    ...world,
    telemetry: { note: (event) => void noted.push({ ...event, atMs: clock.nowMs() - t0 }) },
    jobs: slowly(world.jobs, wireMs.jobs, clock),
    leases: slowly(world.leases, wireMs.leases, clock),
    queue: slowly(world.queue, wireMs.queue, clock),
  };
  const seen = around?.(wired) ?? wired;
  const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
  for (const [index, atMs] of sendsMs.entries())
    clock.after(atMs, () =>
      queue.send(JSON.stringify({ jobId: `j-${index}`, model: modelOf(index), op: "converse", params })),
    );

  const { batchSize, concurrencyMax } = laneMapping(config, lane);
  let receives = 0;
  const poll = async (ofPoller: Config) => {
    const worker = createMemoryWorker(seen, ofPoller, lane);
    while (clock.nowMs() < t0 + untilMs) {
      const received = queue.receive(batchSize);
      receives += received.length;
      if (received.length === 0) await clock.sleep(100 + 100 * clock.jitter());
      const records = received.map((record) => deliveryOf(record, lane, clock.nowMs()));
      const endsAtMs = clock.nowMs() + laneLimits[lane].functionTimeoutMs;
      const again = new Set(records.length === 0 ? [] : await handler(worker, records, endsAtMs));
      for (const { messageId, receiptHandle } of received) if (!again.has(messageId)) queue.delete(receiptHandle);
    }
  };
  for (let pollers = 0; pollers < concurrencyMax; pollers += 1)
    void poll(pollers % 2 === 0 ? config : (otherConfig ?? config));
  await clock.advance(untilMs);

  const replies = world.jobs.rows().flatMap(({ reply }): Reply[] => (reply === undefined ? [] : [JSON.parse(reply)]));
  const requests = world.models.play
    .record()
    .calls.map(({ region, startedAtMs, jobId }) => ({ region, ...(jobId && { jobId }), atMs: startedAtMs - t0 }));
  return { replies, noted, world, requests, receives };
}
