/** EventBridge Scheduler for a rate: invokes a function every so often, whatever became of the time before. */
import type { Invoked } from "./event-source-rules.ts";

export interface RunningSchedule {
  /** Once more, now, beside its times. */
  run(): Promise<Invoked>;
  /** No more times; resolves once the invocations under way have ended. */
  stop(): Promise<void>;
}

/** What a target without an input of its own is given; https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html */
const event = { version: "0", source: "aws.scheduler", "detail-type": "Scheduled Event", detail: "{}" };

/** `invoke` never rejects. The first time comes after the first `everyMs`. */
export function startSchedule(everyMs: number, invoke: (event: unknown) => Promise<Invoked>): RunningSchedule {
  const underWay = new Set<Promise<Invoked>>();
  async function run(): Promise<Invoked> {
    const invoked = invoke(event);
    underWay.add(invoked);
    return await invoked.finally(() => underWay.delete(invoked));
  }
  const timer = setInterval(() => void run(), everyMs);
  return {
    run,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

const unitsMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** `rate(5 minutes)` as ms. A cron or a single time is nothing that the template has. */
export function rateMs(expression: string): number {
  const [, value = "", unit = ""] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined) throw new Error(`only a rate can be kept on this machine, not ${expression}`);
  return Number(value) * unitMs;
}
