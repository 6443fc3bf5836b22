/** One lane's workers on the World in memory, and a small event source mapping that feeds them. */
import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import { noUsage } from "../../lib/core/attempt.ts";
import type { Config } from "../../lib/core/config.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { Lane } from "../../lib/core/lane.ts";
import { laneLimits } from "../../lib/core/limits.ts";
import type { Reply } from "../../lib/core/reply.ts";
import { invoke } from "../../lib/memory/invoke.ts";
import type { VirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryWorker, createMemoryWorld } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { ModelAnswer, World } from "../../lib/ports.ts";
import type { Worker } from "../../lib/worker/invocation.ts";
import { t0 } from "../a.ts";

const target = (region: string) => ({
  modelId: "amazon.nova-lite-v1:0",
  region,
  limit: { start: 10, max: 10 },
  maxTokens: 1_000,
  typicalMs: 1_000,
});

/** `fast` in two regions, falling back to `smart`. */
export const config: Config = checkConfig({
  models: {
    fast: { targets: { west: target("us-west-2"), east: target("us-east-1") }, fallback: ["smart"] },
    smart: { targets: { west: { ...target("us-west-2"), modelId: "anthropic.claude-haiku-v1:0" } } },
  },
  lanes: { bg: { share: 1 }, bulk: { share: 1 } },
  paramsRef: { buckets: ["prompts"] },
} satisfies ConfigInput);

export interface Service {
  readonly world: MemoryWorld;
  readonly worker: Worker;
  /** Puts a job on the queue; only what differs need be said. */
  send(job?: JsonObject): void;
  /** One invocation with what is visible now; answers the ids that must come again, and deletes the others. */
  invoke(options?: { readonly timeoutMs?: number; readonly worker?: Worker }): Promise<readonly string[]>;
  /** Invokes, lets time pass until messages come again, and so on, until the queue is empty. */
  drain(invocationsMax?: number): Promise<void>;
  reply(jobId?: string): Reply | undefined;
}

/** A failure of a request for which no connection came about. */
export const unconnected: ModelAnswer = {
  kind: "failed",
  error: { name: "ECONNREFUSED", code: "ECONNREFUSED", message: "connect ECONNREFUSED", unsent: true },
  usage: noUsage,
};

/** A port whose verbs reject, as they do when what is behind it is away, for as long as `isDown` says so. */
export function frail<Port extends object>(
  port: Port,
  isDown: (verb: string, args: readonly unknown[]) => boolean,
): Port {
  return new Proxy(port, {
    get(whole, verb, receiver) {
      const value: unknown = Reflect.get(whole, verb, receiver);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (isDown(String(verb), args)) throw Object.assign(new Error("down"), { name: "TimeoutError" });
        return Reflect.apply(value, whole, args);
      };
    },
  });
}

/** What an invocation answers, for which time goes on from timer to timer. */
export async function passing<Answer>(clock: VirtualClock, invocation: Promise<Answer>): Promise<Answer> {
  let isOver = false;
  const answer = invocation.finally(() => {
    isOver = true;
  });
  await clock.runUntil(() => isOver);
  return answer;
}

export function aService(
  facts: {
    readonly lane?: Lane;
    readonly script?: ScriptText;
    readonly config?: Config;
    /** What the worker sees of the world: to lose answers, to fail calls, to count. */
    readonly around?: (world: MemoryWorld) => World;
  } = {},
): Service {
  const lane = facts.lane ?? "bg";
  const world = createMemoryWorld({
    startMs: t0,
    lane,
    ...(facts.script === undefined ? {} : { script: facts.script }),
  });
  const worker = createMemoryWorker(facts.around?.(world) ?? world, facts.config ?? config, lane);

  const service: Service = {
    world,
    worker,
    send(job = {}) {
      const params = { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] };
      world.queue.send(JSON.stringify({ jobId: "j-1", model: "fast", op: "converse", params, ...job }));
    },
    async invoke(options = {}) {
      const { clock, queue } = world;
      const received = queue.receive(laneLimits[lane].batchSize);
      const { timeoutMs = laneLimits[lane].functionTimeoutMs } = options;
      const endsAtMs = clock.nowMs() + timeoutMs;
      return passing(clock, invoke(options.worker ?? worker, queue, received, { endsAtMs }));
    },
    async drain(invocationsMax = 50) {
      for (let invocations = 0; invocations < invocationsMax; invocations += 1) {
        const nextMs = world.queue.nextVisibleAtMs();
        if (world.queue.depth().visible === 0) {
          if (nextMs === undefined) return;
          await world.clock.advance(nextMs - world.clock.nowMs());
        }
        await service.invoke();
      }
      throw new Error(`the queue is not empty after ${invocationsMax} invocations`);
    },
    reply(jobId = "j-1") {
      const text = world.jobs.rows().find((row) => row.jobId === jobId)?.reply;
      return text === undefined ? undefined : (JSON.parse(text) as Reply);
    },
  };
  return service;
}
