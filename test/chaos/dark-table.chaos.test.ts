import { describe, test } from "vitest";

import type { CallRecord } from "../../lib/memory/bedrock-play.ts";
import { runChaos } from "./arena.ts";
import { makeJobs } from "./jobs.ts";
import { violations } from "./judge.ts";
import { until } from "./seen.ts";

describe("a minute without the tables", () => {
  test("costs no answer that came in it: each is stored afterwards, and asked for once", async ({
    expect,
    ...context
  }) => {
    // While an answer waits in the replies queue, the copy of a message whose claim has lapsed may ask for another.
    const jobs = makeJobs(30, "dark", { meanMs: 9_000, sigma: 0.5 }, "each once");
    let answered = 0;
    let sent = 0;
    const history = await runChaos({ jobs, environmentsMax: 2 }, context, async (arena) => {
      await until(() => arena.inFlight().length >= 8);
      const { fromMs, toMs } = await arena.goDark(["dynamo"], 60_000);
      const inTheDark = ({ endedAtMs = 0 }: CallRecord) => endedAtMs > fromMs && endedAtMs < toMs;
      answered = arena.calls().filter((call) => call.outcome === "answered" && inTheDark(call)).length;
      sent = arena.proxies.sqs.seen.get("SendMessage") ?? 0;
    });
    expect(violations(history)).toEqual([]);
    expect(answered).toBeGreaterThan(2);
    // Those of the last moments find the table again, all others the replies queue.
    expect(sent).toBeGreaterThan(0);
  });
});
