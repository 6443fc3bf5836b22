/** What an attempt costs, in the reply and in what is noted. */
import { describe, expect, test } from "vitest";
import { addUsage, noUsage } from "../../lib/core/attempt.ts";
import { targetsOf } from "../../lib/core/config.ts";
import { aService, config } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const attempted = ({ world }: Service) => world.noted.filter((event) => event.kind === "attempted");

describe("the attempts of a job", () => {
  test("are added up in its reply, failed ones too: requests, time and tokens", async () => {
    const service = aService({
      script: {
        latency: 700,
        rules: [{ when: { nth: { to: 2, of: "job" } }, do: { kind: "fail", error: "internal" } }],
      },
    });
    service.send();
    await service.drain();
    const all = attempted(service);
    expect(all).toMatchObject([{ outcome: "transient" }, { outcome: "transient" }, { outcome: "answered" }]);
    expect(all.every(({ tookMs }) => tookMs > 0)).toBe(true);
    const usage = all.reduce((sum, event) => addUsage(sum, event.usage), noUsage);
    expect(usage.outputTokens).toBeGreaterThan(0);
    const providerMs = all.reduce((sum, { tookMs }) => sum + tookMs, 0);
    expect(service.reply()).toMatchObject({ ok: true, meta: { attempts: 3, providerMs, usage } });
  });

  test("are noted by how the model stopped, by the provider's own name of a failure, and by what cut them", async () => {
    const service = aService({
      script: { latency: 60_000, rules: [{ when: { jobId: "bad" }, do: { kind: "fail", error: "invalid" } }] },
    });
    service.send({ jobId: "bad" });
    service.send({ jobId: "good" });
    service.send({ jobId: "cut" });
    service.world.clock.after(1_000, () => void service.world.jobs.askCancel("cut", service.world.clock.nowMs()));
    await service.invoke();
    const names = Object.fromEntries(attempted(service).map(({ jobId, outcome, name }) => [jobId, [outcome, name]]));
    expect(names).toEqual({
      bad: ["fatal", "ValidationException"],
      good: ["answered", "end_turn"],
      cut: ["cut", "cancelled"],
    });
  });

  test("cost what the tier costs that the job asks for", async () => {
    const price = { inputPerMTok: 1_000_000, outputPerMTok: 0 };
    const [first] = targetsOf(config);
    const targets = first === undefined ? {} : { west: { ...first.target, price } };
    const service = aService({ config: { ...config, models: { ...config.models, fast: { targets } } } });
    const messages = [{ role: "user", content: [{ text: "Hello" }] }];
    service.send({ jobId: "plain", params: { messages } });
    service.send({ jobId: "flex", params: { messages, serviceTier: { type: "flex" } } });
    await service.drain();
    const usdAToken = attempted(service).map(({ jobId, costUsd = 0, usage }) => [jobId, costUsd / usage.inputTokens]);
    expect(Object.fromEntries(usdAToken)).toEqual({ plain: 1, flex: 0.5 });
  });
});
