import { describe, expect, test } from "vitest";
import { rateMs, startSchedule } from "../../infra/local/schedule.ts";
import { until } from "./process.ts";

describe("a schedule", () => {
  test("invokes again and again, whatever became of the time before, and not once it is stopped", async () => {
    const invoked: unknown[] = [];
    const ends: (() => void)[] = [];
    const schedule = startSchedule(5, async (event) => {
      invoked.push(event);
      if (invoked.length === 1) await new Promise<void>((end) => void ends.push(end));
      return { kind: "threw", name: "Error" };
    });
    await until(() => invoked.length >= 3);
    expect(invoked[0]).toMatchObject({ source: "aws.scheduler" });

    let isStopped = false;
    const stopped = schedule.stop().then(() => (isStopped = true));
    const times = invoked.length;
    await schedule.run();
    expect(isStopped).toBe(false); // the first is still under way
    for (const end of ends) end();
    await stopped;
    expect(invoked).toHaveLength(times + 1);
  });

  test.each([
    ["rate(5 minutes)", 300_000],
    ["rate(1 minute)", 60_000],
    ["rate(2 hours)", 7_200_000],
  ])("of %s comes every %i ms", (expression, ms) => expect(rateMs(expression)).toBe(ms));

  test("of any other kind is refused", () => expect(() => rateMs("cron(0 12 * * ? *)")).toThrow("only a rate"));
});
