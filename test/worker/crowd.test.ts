import { describe, expect, test } from "vitest";
import { hiddenMessagesMax } from "../../lib/core/limits.ts";
import type { ScriptText } from "../../lib/memory/bedrock-script.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { World } from "../../lib/ports.ts";
import { aService } from "./a-service.ts";

const throttledForLong: ScriptText = { rules: [{ do: { kind: "fail", error: "throttled", retryAfter: "300" } }] };

/** A queue with that many hidden messages, which counts how often it is asked. */
function aCrowd(countHidden: () => Promise<number>) {
  let looks = 0;
  const around = (world: MemoryWorld): World => ({
    ...world,
    queue: { ...world.queue, countHidden: async () => ((looks += 1), await countHidden()) },
  });
  const service = aService({ around, script: throttledForLong });
  const delayS = async (jobId: string) => {
    service.send({ jobId });
    await service.invoke();
    const delays = service.world.noted.flatMap((event) => ("delayS" in event ? [event.delayS] : []));
    return delays.at(-1) ?? NaN;
  };
  return { service, delayS, looks: () => looks };
}

describe("a queue that hides so many messages that SQS might give out no more", () => {
  test("is looked at beside the first long hiding, and the next ones are short", async () => {
    const { delayS, looks } = aCrowd(async () => hiddenMessagesMax + 1);
    expect(await delayS("j-1")).toBeGreaterThan(60);
    expect(looks()).toBe(1);
    expect(await delayS("j-2")).toBeLessThanOrEqual(30);
    expect(looks()).toBe(1);
  });

  test("is looked at again after a minute, however short the hidings have become", async () => {
    let hidden = hiddenMessagesMax + 1;
    const { service, delayS, looks } = aCrowd(async () => hidden);
    await delayS("j-1");
    hidden = hiddenMessagesMax;
    await service.world.clock.advance(60_000);
    expect(await delayS("j-2")).toBeLessThanOrEqual(30);
    expect(looks()).toBe(2);
    expect(await delayS("j-3")).toBeGreaterThan(60);
  });

  test("is not asked for by those who hide for less", async () => {
    const { service, looks } = aCrowd(async () => 0);
    service.send({ model: "unknown-model" });
    await service.invoke();
    expect(looks()).toBe(0);
  });

  test("is taken for as it was when SQS does not say", async () => {
    const { delayS, service } = aCrowd(() => Promise.reject(new Error("down")));
    await delayS("j-1");
    expect(await delayS("j-2")).toBeGreaterThan(60);
    expect(service.world.noted).toContainEqual(expect.objectContaining({ kind: "trouble", error: "Error" }));
  });
});
