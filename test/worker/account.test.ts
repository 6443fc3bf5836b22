/** What an attempt costs, in the reply and in what is noted. */
import { describe, expect, test } from "vitest";
import { addUsage, noUsage } from "../../lib/core/attempt.ts";
import { aService } from "./a-service.ts";
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
});
