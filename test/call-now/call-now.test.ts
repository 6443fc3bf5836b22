/** A call in this process is a job like any other, but for its queue, its row and its stored reply. */
import { describe, expect, test } from "vitest";
import { callNowOn } from "../../lib/call-now/call-now.ts";
import type { CallOptions } from "../../lib/call-now/index.ts";
import type { CallOf, ReplyOf } from "../../lib/client/job.ts";
import { checkConfig } from "../../lib/config.ts";
import type { ConfigInput } from "../../lib/config.ts";
import type { Noted } from "../../lib/core/noted.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { invoke } from "../../lib/memory/invoke.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { scriptedModels } from "../../lib/memory/models.ts";
import { createMemoryWorker, createMemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { config, passing } from "../worker/a-service.ts";

const west = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", maxTokens: 1_000, typicalMs: 1_000 };
const one: ConfigInput = { models: { fast: { targets: { west: { ...west, limit: { start: 1, max: 1 } } } } } };
const params = { messages: [{ role: "user" as const, content: [{ text: "Say hello to Ada." }] }] };
const aCall = (more: Partial<CallOf<"converse">> = {}): CallOf<"converse"> => ({
  jobId: "c-1",
  model: "fast",
  op: "converse",
  params,
  ...more,
});
const answer = { output: { message: { role: "assistant" } } };
const away = () => Promise.reject(Object.assign(new Error("away"), { name: "TimeoutError" }));

/** Callers that share a lease table and a model, in memory and under one clock. */
function aPlace(script: ScriptText = {}, written?: ConfigInput) {
  const clock = createVirtualClock(t0);
  const noted: Noted[] = [];
  const shared = {
    clock,
    leases: createMemoryLeaseTable(),
    models: scriptedModels(clock, script),
    telemetry: { note: (event: Noted) => void noted.push(event) },
  };
  const place = {
    ...shared,
    noted,
    config: written === undefined ? config : checkConfig(written),
    caller: (around: Partial<World> = {}) => callNowOn({ ...shared, ...around }, place.config, "caller"),
    call: (more: Partial<CallOf<"converse">> = {}, options: CallOptions = {}): Promise<ReplyOf<"converse">> =>
      passing(clock, place.caller()(aCall(more), options)),
    asked: () => shared.models.play.record().calls,
    /** What any call leaves behind. */
    left: async () => ({
      page: await shared.leases.readPage({ ledger: "fast@west", page: 0 }),
      timers: clock.nextAtMs(),
      inFlight: shared.models.play.record().now,
    }),
  };
  return place;
}
/** What a call was rejected with. */
const failureOf = (place: ReturnType<typeof aPlace>, call: Promise<unknown>) =>
  passing(
    place.clock,
    call.then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
const nothing = { page: {}, timers: undefined, inFlight: 0 };
const slow: ScriptText = { rules: [{ when: { jobId: "c-1" }, do: { kind: "answer" }, latency: 20_000 }] };
const down = (region: string) => ({ when: { region }, do: { kind: "fail", error: "unavailable" } }) as const;

describe("a call", () => {
  test("has the reply of a job, and leaves no lease, no timer and no request behind", async () => {
    const place = aPlace();
    expect(await place.call({ metadata: { k: "v" } })).toMatchObject({
      jobId: "c-1",
      ok: true,
      status: "succeeded",
      output: answer,
      metadata: { k: "v" },
      meta: { model: "fast", target: "west", attempts: 1, deliveries: 1, fallbackUsed: false, worker: "caller" },
    });
    expect(await place.left()).toEqual(nothing);
  });

  test("has its output whole, however big", async () => {
    const content = [{ text: "a".repeat(2_000_000) }];
    const place = aPlace({ rules: [{ do: { kind: "answer", content } }] });
    expect(await place.call()).toMatchObject({ output: { output: { message: { content } } } });
  });

  test("may have params that no message would take", async () => {
    const messages = [
      {
        role: "user" as const,
        content: [{ image: { format: "png" as const, source: { bytes: new Uint8Array(2_000_000) } } }],
      },
    ];
    expect(await aPlace().call({ params: { messages } })).toMatchObject({ ok: true });
  });

  test("goes on to the next step, as a job does", async () => {
    const place = aPlace({ rules: [down("us-west-2")] });
    expect(await place.call()).toMatchObject({ ok: true, meta: { target: "east", fallbackUsed: true } });
    expect(await place.left()).toEqual(nothing);
  });

  test("tries again what was throttled, for as long as its deadline allows, and holds nothing while it waits", async () => {
    const throttled = { kind: "fail", error: "throttled", retryAfter: "20" } as const;
    const place = aPlace({ rules: [{ when: { nth: { to: 1 } }, do: throttled }] }, one);
    const held: unknown[] = [];
    place.clock.after(10_000, () => void place.left().then((left) => held.push(left.page)));
    expect(await place.call()).toMatchObject({ ok: true, meta: { attempts: 2, deliveries: 2 } });
    expect(place.clock.nowMs() - t0).toBeGreaterThanOrEqual(20_000);
    expect(held).toEqual([{}]);
  });

  test("whose every step fails has the error of a job", async () => {
    const place = aPlace({ rules: [{ do: { kind: "fail", error: "invalid" } }] });
    expect(await place.call()).toMatchObject({ ok: false, status: "failed", error: { code: "provider_error" } });
  });

  test("ends with its deadline, a minute without one", async () => {
    const place = aPlace({ rules: [{ do: { kind: "hang" } }] });
    expect(await place.call({ deadlineAt: t0 + 5_000 })).toMatchObject({
      status: "expired",
      error: { code: "deadline_exceeded" },
    });
    expect(place.clock.nowMs()).toBe(t0 + 5_000);
    await place.call();
    expect(place.clock.nowMs()).toBe(t0 + 65_000);
    expect(await place.left()).toEqual(nothing);
  });

  test("that lasts keeps its lease alive", async () => {
    const place = aPlace({ rules: [{ do: { kind: "answer" }, latency: 44_000 }] }, one);
    expect(await place.call()).toMatchObject({ ok: true, meta: { attempts: 1, providerMs: 44_000 } });
    expect(place.noted).not.toContainEqual(expect.objectContaining({ kind: "lease-lost" }));
  });

  test("of the bulk lane waits where an rt call gives up", async () => {
    const place = aPlace(slow, one);
    const first = place.caller()(aCall());
    expect(await place.call({ jobId: "c-2", lane: "bulk" })).toMatchObject({ ok: true });
    expect(await first).toMatchObject({ ok: true });
  });

  test.each<[says: string, job: object, field: string, message: string]>([
    ["a misspelt field", { modle: "fast" }, "modle", "model"],
    ["a model that the config does not have", { model: "fats" }, "model", "fats"],
    ["a fallback that it does not have", { fallback: ["fats"] }, "model", "fats"],
    ["params that lie elsewhere", { params: undefined, paramsRef: "s3://prompts/a" }, "paramsRef", "give the params"],
    ["somebody to be told", { replyTo: { sns: "arn:aws:sns:us-west-2:1:t" } }, "replyTo", "in hand"],
    ["what JSON cannot carry", { params: { messages: [Number.NaN] } }, "params.messages[0]", "finite"],
  ])("with %s is refused before anything is sent", async (_says, more, field, message) => {
    const place = aPlace();
    const refused = await failureOf(place, place.caller()(aCall(more)));
    expect(refused).toMatchObject({ name: "JobRefused", jobId: "c-1", field });
    expect(refused).toHaveProperty("message", expect.stringContaining(message));
    expect(place.asked()).toEqual([]);
  });
});

describe("a limit", () => {
  test("that is full is waited for as rt waits, then there is no capacity, and when to come again", async () => {
    const place = aPlace(slow, one);
    const first = place.caller()(aCall());
    await place.clock.advance(100);
    const second = await place.call({ jobId: "c-2" });
    expect(second).toMatchObject({
      ok: false,
      error: { code: "no_capacity", retryable: true, retryAfterMs: expect.any(Number) },
    });
    expect(second.meta.leaseWaitMs).toBe(6_000);
    expect(await passing(place.clock, first)).toMatchObject({ ok: true });
    expect(place.models.play.record().max).toBe(1);
  });

  test("is one for workers and callers", async () => {
    const place = aPlace({ latency: 20_000 }, one);
    const world = {
      ...createMemoryWorld({ startMs: t0, lane: "rt" }),
      clock: place.clock,
      leases: place.leases,
      models: place.models,
    };
    world.queue.send(JSON.stringify(aCall({ jobId: "w-1" })));
    const invoked = invoke(createMemoryWorker(world, place.config, "rt"), world.queue, world.queue.receive());
    await place.clock.advance(100);
    expect(await place.call()).toMatchObject({ error: { code: "no_capacity" } });
    await passing(place.clock, invoked);
    expect(await place.call({ jobId: "c-2" })).toMatchObject({ ok: true });
  });

  test("is shared by the calls of one process, each with its own reply, of one jobId too", async () => {
    const place = aPlace({ latency: 500 }, one);
    const callNow = place.caller();
    const replies = await passing(place.clock, Promise.all([1, 2, 3, 4].map(() => callNow(aCall()))));
    expect(replies.map(({ ok }) => ok)).toEqual([true, true, true, true]);
    expect(place.models.play.record()).toMatchObject({ max: 1 });
    expect(place.asked()).toHaveLength(4);
    expect(await place.left()).toEqual(nothing);
  });

  test("is cut for all by a caller's throttle, and a breaker opened", async () => {
    const place = aPlace({ rules: [down("us-west-2"), down("us-east-1")] });
    for (const jobId of ["c-1", "c-2"]) await place.call({ jobId });
    const board = { ledgers: [], targets: ["fast@west"], lanes: [], models: [] };
    expect((await place.leases.readBoard(board)).breakers.get("fast@west")).toMatchObject({ kind: "open" });
  });
});

describe("the signal", () => {
  test.each<[says: string, script: ScriptText, afterMs: number, attempts: number]>([
    ["before the call has begun, so that nobody is asked", {}, 0, 0],
    ["while a request is under way, which is aborted", slow, 3_000, 1],
    ["in a backoff", { rules: [{ do: { kind: "fail", error: "throttled", retryAfter: "3" } }] }, 1_000, 1],
    ["between two deliveries", { rules: [{ do: { kind: "fail", error: "throttled", retryAfter: "25" } }] }, 15_000, 1],
  ])("ends a call %s", async (_says, script, afterMs, attempts) => {
    const place = aPlace(script, one);
    const stopping = new AbortController();
    if (afterMs === 0) stopping.abort();
    else place.clock.after(afterMs, () => stopping.abort());
    const reply = await place.call({}, { signal: stopping.signal });
    expect(reply).toMatchObject({ ok: false, status: "cancelled", error: { code: "cancelled" }, meta: { attempts } });
    expect(place.clock.nowMs()).toBe(t0 + afterMs);
    expect(place.asked()).toHaveLength(attempts);
    expect(await place.left()).toEqual(attempts === 0 ? { ...nothing, page: undefined } : nothing);
  });

  test("ends it at once whenever it fires, and leaves nothing behind", async () => {
    const script: ScriptText = {
      latency: 500,
      rules: [{ when: { nth: { to: 1 } }, do: { kind: "fail", error: "throttled", retryAfter: "3" } }],
    };
    const whole = aPlace(script, one);
    await whole.call();
    const moments = whole.noted.length;
    expect(moments).toBeGreaterThan(10);

    const ends: string[] = [];
    for (let moment = 1; moment <= moments; moment += 1) {
      const place = aPlace(script, one);
      const stopping = new AbortController();
      let [seen, firedAtMs] = [0, Infinity];
      const telemetry = {
        note: () => {
          if (++seen !== moment) return;
          firedAtMs = place.clock.nowMs();
          stopping.abort();
        },
      };
      const { status } = await passing(place.clock, place.caller({ telemetry })(aCall(), { signal: stopping.signal }));
      ends.push(status);
      // A call that was answered before may have lasted on.
      expect(status === "cancelled" ? place.clock.nowMs() : firedAtMs).toBe(firedAtMs);
      expect(await place.left()).toMatchObject({ timers: undefined, inFlight: 0 });
      expect((await place.left()).page ?? {}).toEqual({});
    }
    expect(ends.slice(0, -5)).toEqual(ends.slice(0, -5).map(() => "cancelled"));
  });

  test("while it waits for a lease leaves the lease to its holder", async () => {
    const place = aPlace(slow, one);
    const first = place.caller()(aCall());
    const stopping = new AbortController();
    place.clock.after(1_000, () => stopping.abort());
    expect(await place.call({ jobId: "c-2" }, { signal: stopping.signal })).toMatchObject({ status: "cancelled" });
    expect(place.clock.nowMs()).toBe(t0 + 1_000);
    expect(await passing(place.clock, first)).toMatchObject({ ok: true });
    expect(await place.left()).toEqual(nothing);
  });

  test("tells what was perhaps billed", async () => {
    const place = aPlace(slow, one);
    const stopping = new AbortController();
    place.clock.after(3_000, () => stopping.abort());
    const { meta } = await place.call({}, { signal: stopping.signal });
    expect(meta.usage.possiblyBilledTokens).toBeGreaterThan(0);
  });

  test("that fires when the call is over does nothing", async () => {
    const place = aPlace();
    const stopping = new AbortController();
    const reply = await place.call({}, { signal: stopping.signal });
    stopping.abort();
    await place.clock.advance(60_000);
    expect(reply).toMatchObject({ ok: true });
    expect(await place.left()).toEqual(nothing);
  });
});

describe("trouble below", () => {
  const failing = (place: ReturnType<typeof aPlace>, around: Partial<World> = {}) =>
    failureOf(place, place.caller(around)(aCall()));

  test("with the lease table is thrown at once, with what to look at; no model was asked", async () => {
    const place = aPlace();
    const leases = { ...place.leases, take: away, createPage: away, reclaim: away };
    const failed = await failing(place, { leases });
    expect(failed).toMatchObject({ name: "CallFailed", jobId: "c-1", reason: "LeaseTableUnreachable" });
    expect(failed).toHaveProperty("message", expect.stringContaining("grantCallNow"));
    expect(place.asked()).toEqual([]);
    expect(place.clock.nextAtMs()).toBeUndefined();
  });

  test("with the credentials is thrown too", async () => {
    const place = aPlace({ rules: [{ do: { kind: "fail", error: "expired" } }] });
    expect(await failing(place)).toMatchObject({ name: "CallFailed", reason: "ExpiredTokenException" });
    expect(await place.left()).toEqual(nothing);
  });

  test("that is a bug of ours is thrown by its class alone", async () => {
    const place = aPlace();
    const models = { ...place.models, ask: () => Promise.reject(new TypeError("the prompt was secret")) };
    const failed = await failing(place, { models });
    expect(failed).toMatchObject({ name: "CallFailed", reason: "TypeError" });
    expect(failed).toHaveProperty("message", expect.not.stringContaining("secret"));
  });
});
