/** What a job gains where its config has prompts counted, and what it costs. */
import { describe, expect, test } from "vitest";
import { checkConfig } from "../../lib/config.ts";
import type { Config, TargetConfig } from "../../lib/core/config.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { t0 } from "../a.ts";
import { aService } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const counted = { countTokens: true, contextWindow: 2_000 } as const;

/** `fast` in two regions, then `smart` if it is named; maxTokens is 1,000 everywhere. */
function config(
  west: Partial<TargetConfig>,
  east: Partial<TargetConfig> = west,
  smart?: Partial<TargetConfig>,
): Config {
  const target = (region: string, facts: Partial<TargetConfig>) => ({
    modelId: "us.amazon.nova-lite-v1:0",
    region,
    limit: { start: 10, max: 10 },
    maxTokens: 1_000,
    ...facts,
  });
  return checkConfig({
    models: {
      fast: { targets: { west: target("us-west-2", west), east: target("us-east-1", east) } },
      ...(smart && { smart: { targets: { west: target("us-west-2", { modelId: "us.amazon.pro-v1:0", ...smart }) } } }),
    },
    lanes: { bg: { share: 1 }, bulk: { share: 1 } },
  });
}

type Rules = NonNullable<ScriptText["rules"]>;

/** A script whose models count so many tokens, in no time. */
const counting = (inputTokens: number, ...rules: Rules): ScriptText => ({
  rules: [{ when: { op: "count_tokens" }, do: { kind: "answer", inputTokens } }, ...rules],
});
const notCounting = (...[effect]: [Rules[number]["do"]]): ScriptText => ({
  rules: [{ when: { op: "count_tokens" }, do: effect }],
});

/** What Bedrock was asked, in its order: `count us-west-2`, `ask us-west-2`. */
const asked = ({ world }: Service) =>
  world.models.play.record().calls.map(({ op, region }) => `${op === "count_tokens" ? "count" : "ask"} ${region}`);
const long = { messages: [{ role: "user", content: [{ text: "word ".repeat(2_000) }] }] };

async function run(service: Service, job: Parameters<Service["send"]>[0] = {}): Promise<Service> {
  service.send(job);
  await service.drain();
  return service;
}

describe("a prompt is counted", () => {
  test("once, before the first attempt", async () => {
    const service = await run(aService({ config: config(counted), script: counting(10) }));
    expect(asked(service)).toEqual(["count us-west-2", "ask us-west-2"]);
    expect(service.reply()).toMatchObject({ ok: true, meta: { attempts: 1 } });
  });

  test("once for all attempts and for all targets of a model", async () => {
    const failing: Rules[number] = { when: { region: "us-west-2" }, do: { kind: "fail", error: "internal" } };
    const service = await run(aService({ config: config(counted), script: counting(10, failing) }));
    const [first, ...rest] = asked(service);
    expect(first).toBe("count us-west-2");
    expect(new Set(rest)).toEqual(new Set(["ask us-west-2", "ask us-east-1"]));
  });

  test("by each model that serves it", async () => {
    const failing: Rules[number] = { when: { modelId: "us.amazon.nova-*" }, do: { kind: "fail", error: "denied" } };
    const service = aService({ config: config(counted, counted, counted), script: counting(10, failing) });
    await run(service, { fallback: ["smart"] });
    const counts = service.world.models.play.record().calls.filter(({ op }) => op === "count_tokens");
    expect(counts.map(({ modelId }) => modelId)).toEqual(["amazon.nova-lite-v1:0", "amazon.pro-v1:0"]);
  });

  test("under no lease", async () => {
    let taken = 0;
    const takenAtCounts: number[] = [];
    const around = (world: MemoryWorld): World => ({
      ...world,
      leases: { ...world.leases, take: (...ask) => ((taken += 1), world.leases.take(...ask)) },
      models: {
        ...world.models,
        countTokens: (...ask) => (takenAtCounts.push(taken), world.models.countTokens(...ask)),
      },
    });
    await run(aService({ config: config(counted), script: counting(10), around }));
    expect([takenAtCounts, taken > 0]).toEqual([[0], true]);
  });

  test.each<[says: string, west: Partial<TargetConfig>]>([
    ["does not say so", { contextWindow: 2_000, tokensPerMinute: 60_000 }],
    ["says so of another target", { contextWindow: 2_000 }],
  ])("never where the config %s", async (_says, west) => {
    const service = await run(aService({ config: config(west, counted), script: counting(10) }));
    expect(asked(service)).toEqual(["ask us-west-2"]);
  });

  test("not for a step that is not tried anyway", async () => {
    const service = aService({ config: config({ ...counted, ops: ["invoke_model"] }, counted), script: counting(10) });
    expect(asked(await run(service))).toEqual(["count us-east-1", "ask us-east-1"]);
  });
});

describe("a count", () => {
  test("ends a job that no window holds, without a request", async () => {
    const service = await run(aService({ config: config(counted), script: counting(1_001) }));
    expect(asked(service)).toEqual(["count us-west-2"]);
    expect(service.reply()).toMatchObject({
      ok: false,
      error: { code: "context_too_small", retryable: false },
      meta: { attempts: 0 },
    });
  });

  test("lets a job through that just fits", async () => {
    const service = await run(aService({ config: config(counted), script: counting(1_000) }));
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "west" } });
  });

  test("rules no step out whose own model has not counted", async () => {
    const service = aService({
      config: config(counted, counted, { contextWindow: 2_000 }),
      script: counting(1_001),
    });
    await run(service, { fallback: ["smart"], params: long });
    expect(service.reply()).toMatchObject({ ok: true, meta: { model: "smart" } });
  });

  test.each([
    ["keeps a job where an estimate would have sent it on", 900, "west"],
    ["sends a job on as an estimate does", 1_100, "east"],
  ])("%s", async (_says, tokens, target) => {
    const service = aService({ config: config(counted, { contextWindow: 9_000 }), script: counting(tokens) });
    await run(service, { params: long });
    expect(service.reply()).toMatchObject({ ok: true, meta: { target } });
  });

  test("is what is set aside of the minute's tokens", async () => {
    const script: ScriptText = { ...counting(2_000), latency: 1_000 };
    const service = aService({ config: config({ countTokens: true, tokensPerMinute: 60_000 }), script });
    service.send();
    let aheadMs = 0;
    service.world.clock.after(1_500, () => {
      void service.world.leases.readClocks("fast@west").then(({ tokensAtMs = 0 }) => (aheadMs = tokensAtMs - t0));
    });
    await service.invoke();
    expect(aheadMs).toBe(1_000 + 3_000 * 1.1); // clocks run a tenth slow
  });
});

describe("without a count the estimate serves", () => {
  test("where the model does not count, and it is noted", async () => {
    const script = notCounting({ kind: "fail", error: "no-count" });
    const service = await run(aService({ config: config(counted), script }), { params: long });
    expect(asked(service)).toEqual(["count us-west-2", "ask us-west-2"]);
    expect(service.reply()).toMatchObject({ ok: true });
    expect(service.world.noted).toContainEqual(
      expect.objectContaining({ kind: "trouble", what: "count tokens", error: "ValidationException", target: "west" }),
    );
  });

  test("after two seconds", async () => {
    const service = aService({ config: config(counted), script: notCounting({ kind: "hang" }) });
    service.send();
    await service.invoke();
    expect(service.world.clock.nowMs() - t0).toBe(2_000);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("but no request goes out for a job whose deadline came meanwhile", async () => {
    const service = aService({ config: config(counted), script: notCounting({ kind: "hang" }) });
    service.send({ deadlineAt: t0 + 1_500 });
    await service.invoke();
    expect(asked(service)).toEqual(["count us-west-2"]);
    expect(service.reply()).toMatchObject({ ok: false, status: "expired" });
    expect(service.world.clock.nowMs() - t0).toBe(1_500);
    expect(service.world.noted.filter(({ kind }) => kind === "trouble")).toEqual([]);
  });

  test("and none for a job whose cancel is heard meanwhile", async () => {
    const slowly: Rules[number] = { when: { op: "converse" }, do: { kind: "fail", error: "denied" }, latency: 9_000 };
    const [hanging] = notCounting({ kind: "hang" }).rules ?? [];
    const script: ScriptText = { rules: [...(hanging ? [hanging] : []), slowly] };
    const service = aService({ config: config({}, counted), script });
    service.send();
    service.world.clock.after(9_500, () => void service.world.jobs.askCancel("j-1", t0));
    await service.invoke();
    expect(asked(service)).toEqual(["ask us-west-2", "count us-east-1"]);
    expect(service.reply()).toMatchObject({ ok: false, status: "cancelled" });
    expect(service.world.clock.nowMs() - t0).toBe(10_000); // by the heartbeat
  });

  test("and a count that never settles keeps no claim from being given back", async () => {
    const around = (world: MemoryWorld): World => ({
      ...world,
      models: { ...world.models, countTokens: () => new Promise(() => undefined) },
    });
    const service = aService({ config: config(counted), around });
    service.send();
    expect(await service.invoke({ timeoutMs: 30_000 })).toHaveLength(1);
    expect(service.world.jobs.rows()[0]).toMatchObject({ state: "queued" });
  });
});
