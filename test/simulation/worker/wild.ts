import type { Config } from "../../../lib/core/config.ts";
import type { JsonObject } from "../../../lib/core/json.ts";
import { lanes } from "../../../lib/core/lane.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import type { OverrideAsk } from "../../../lib/core/override.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import { createDice } from "../../../lib/memory/clock.ts";
import { t0 } from "../../a.ts";
import type { Scenario, Send } from "./scenario.ts";
import { configOf, job, scriptOf, target } from "./a-scenario.ts";

type Pick = <T>(...among: readonly T[]) => T;
type Maybe = (percent: number) => boolean;

/** All is over by then but what the faults do: whatever an operator has set, and what Bedrock is told to do. */
const spellMs = 150_000;

/** How a good job may end when nobody knows what it met. */
const ends = [
  "succeeded",
  "cancelled",
  "expired",
  "failed: no_capacity",
  "failed: circuit_open",
  "failed: attempt_timeout",
  "failed: context_too_small",
  "failed: target_unavailable",
  "failed: provider_error",
  "failed: budget_exhausted",
  "failed: worker_crashed",
] as const;

/** A scenario that nobody has thought of: jobs of all kinds, limits, scripts, cancels and overrides as the dice fall. */
export function wild(seed: number): Scenario {
  const dice = createDice(seed * 7_919 + 13);
  const pick: Pick = (...among) => {
    const [picked] = among.slice(Math.floor(dice() * among.length));
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  };
  const maybe: Maybe = (percent) => dice() * 100 < percent;
  const [lane, other] = [pick<Lane>("bg", "bg", "rt", "bulk"), pick<Lane>(...lanes)];
  const lanesOf = maybe(30) ? ([lane, other] as const) : ([lane] as const);
  const numbers = Array.from({ length: 1 + Math.floor(dice() * 8) }, (_, number) => number);
  const sends = numbers.flatMap((number) => sendsOf(`j-${number}`, pick(...lanesOf), dice, pick, maybe));
  const ids = sends.flatMap(({ jobId = [] }) => jobId);
  return {
    name: `wild ${seed}`,
    isWild: true,
    sends,
    configs: configsOf(pick, maybe),
    script: scriptOf(spells(dice, pick, maybe)),
    objects: { good: JSON.stringify({ messages: [] }), junk: "{" },
    concurrency: pick(1, 2, 2, 4),
    batchSize: pick(1, 3, 10),
    ...(maybe(40) && { timeoutMs: pick(15_000, 30_000, 60_000) }),
    cancels: maybe(30) ? ids.slice(0, 2).map((jobId) => ({ jobId, atMs: dice() * spellMs })) : [],
    overrides: maybe(30) ? overridesOf(lane, dice, pick) : [],
    ...(maybe(10) && { poison: "j-0" }),
  };
}

function sendsOf(jobId: string, lane: Lane, dice: () => number, pick: Pick, maybe: Maybe): readonly Send[] {
  const atMs = dice() * 60_000;
  const asks: JsonObject = {
    ...(maybe(30) && { operation: "summarise" }),
    ...(maybe(20) && { op: pick("converse_stream", "invoke_model") }),
    ...(maybe(20) && { model: "fast@east", fallback: "none" }),
    ...(maybe(20) && { deadlineAt: Math.round(t0 + atMs + dice() * 120_000) }),
    ...(maybe(20) && { replyTo: { eventBus: "default" } }),
  };
  const fates = [...ends] as const;
  const good = job(jobId, asks, { lane, atMs, fates });
  const again = (facts: JsonObject, more: readonly string[]): Send =>
    job(jobId, { ...asks, ...facts }, { lane, atMs: atMs + dice() * 30_000, fates: [...ends, ...more] });
  switch (pick("good", "good", "good", "good", "copies", "torn", "damaged", "reused", "novel", "unknown", "ref")) {
    case "good":
      return [good];
    case "copies":
      return [good, good, again({}, [])];
    case "torn":
      return [good, { lane, atMs, body: `{"jobId":"${jobId}`, fates: ["parked: not_an_envelope"] }];
    case "damaged": {
      // Whichever comes first has the id.
      const more = ["failed: invalid_envelope", "parked: invalid_envelope", "parked: job_id_reused"];
      return [{ ...good, fates: [...ends, ...more] }, again({ modle: "fast" }, more)];
    }
    case "reused": {
      const more = ["parked: job_id_reused"];
      return [{ ...good, fates: [...ends, ...more] }, again({ model: "smart", fallback: "none" }, more)];
    }
    case "novel":
      return [job(jobId, { model: "novel" }, { lane, atMs, fates: [...ends, "failed: model_not_configured"] })];
    case "unknown":
      return [
        job(jobId, { model: "fats" }, { lane, atMs, fates: ["failed: model_not_configured", "expired", "cancelled"] }),
      ];
    case "ref": {
      const paramsRef = `s3://prompts/${pick("good", "junk", "nothing")}`;
      return [
        job(jobId, { ...asks, params: null, paramsRef }, { lane, atMs, fates: [...ends, "failed: params_missing"] }),
      ];
    }
  }
}

/** Two versions at work, of which one knows a model more, and may have other limits. */
function configsOf(pick: Pick, maybe: Maybe): readonly [Config, Config] {
  const max = pick(1, 2, 3, 40);
  const facts = {
    limit: { start: max, max },
    ...(maybe(30) && { requestsPerMinute: pick(10, 60) }),
    ...(maybe(30) && { tokensPerMinute: pick(2_000, 20_000) }),
    ...(maybe(40) && { quotaGroup: "nova" }),
  };
  const shared = {
    ...(maybe(40) && { operations: { summarise: { limitMax: pick(1, 2) } } }),
    ...(facts.quotaGroup === undefined ? {} : { quotaGroups: { nova: { limitMax: max + 1 } } }),
    ...(maybe(40) && { global: { limitMax: pick(2, 3, 50) } }),
    lanes: { bg: { share: pick(1, 0.9, 0.5) }, bulk: { share: pick(1, 0.5) } },
    replies: { inlineBytesMax: pick(100, 4_000), allow: { eventBuses: ["default"] } },
  };
  const modelsWith = (limit: { readonly start: number; readonly max: number }) => ({
    fast: {
      targets: { west: target("us-west-2", { ...facts, limit }), east: target("us-east-1") },
      fallback: ["smart"],
    },
    smart: { targets: { west: target("us-west-2", { modelId: "anthropic.claude-haiku-v1:0" }) } },
  });
  const novel = { novel: { targets: { west: target("us-west-2", { limit: { start: 1, max: 2 } }) } } };
  const [ours, theirs] = [modelsWith(facts.limit), modelsWith(maybe(70) ? facts.limit : { start: 1, max: max + 1 })];
  return [
    configOf({ ...shared, models: { ...ours, ...novel } }),
    configOf({ ...shared, models: maybe(70) ? { ...theirs, ...novel } : theirs }),
  ];
}

function spells(dice: () => number, pick: Pick, maybe: Maybe): Partial<ScriptText> {
  const rules = Array.from({ length: Math.floor(dice() * 4) }, () => {
    const fromMs = dice() * 60_000;
    const when = {
      fromMs,
      toMs: Math.min(spellMs, fromMs + dice() * 90_000),
      percent: pick(20, 60, 100),
      ...(maybe(50) && { region: pick("us-west-2", "us-east-1") }),
    };
    const error = pick(
      ...(["throttled", "throttled", "daily", "internal", "overloaded", "model-timeout", "denied", "expired"] as const),
    );
    const retryAfter = error === "throttled" && maybe(50) ? { retryAfter: pick("1", "7", "40") } : {};
    const failing = { kind: "fail", error, ...retryAfter } as const;
    const effects = [failing, failing, failing, { kind: "hang" }, { kind: "reset" }, { kind: "malformed" }] as const;
    return { when, do: pick<(typeof effects)[number]>(...effects) };
  });
  return { seed: Math.floor(dice() * 1e6), latency: { meanMs: pick(300, 2_000, 10_000, 30_000), sigma: 0.8 }, rules };
}

/** Each is taken back in the end. */
function overridesOf(lane: Lane, dice: () => number, pick: Pick): NonNullable<Scenario["overrides"]> {
  const [atMs, endsMs] = [dice() * 60_000, spellMs];
  const set = pick<OverrideAsk>(
    { kind: "lane", name: lane, override: { pausedUntilMs: t0 + atMs + 20_000 } },
    { kind: "ledger", name: "fast@west", override: { out: true } },
    { kind: "ledger", name: "fast@west", override: { limit: 1 } },
    { kind: "ledger", name: "fast@east", override: { pausedUntilMs: t0 + atMs + 40_000 } },
    { kind: "model", name: "fast", override: { chain: ["smart", "fast"] } },
  );
  const { override: _override, ...back } = set;
  return [
    { ...set, atMs },
    { ...back, atMs: endsMs },
  ];
}
