import { describe, expect, test } from "vitest";

import { sendAndHear } from "../../lib/cli/submit-file.ts";
import type { Sender } from "../../lib/cli/submit-file.ts";
import { Sums } from "../../lib/cli/sums.ts";
import { readJobs } from "../../lib/client/index.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryJobTable } from "../../lib/memory/job-table.ts";
import { t0 } from "../a.ts";
import { job } from "../local/files.ts";

const hourMs = 3_600_000;
const broken = new Error("AWS does not answer");

/** A sender of so many jobs, of which nobody answers one; each of its two sides can be made to fail. */
function aSender({ jobs = 1_500, sendFails = Infinity, readFails = 0 } = {}) {
  const clock = createVirtualClock(t0);
  const table = createMemoryJobTable();
  const asked = { sends: 0, reads: 0, stops: 0 };
  const ended = new AbortController();
  const sender: Sender = {
    clock,
    bucket: undefined,
    sums: new Sums(undefined),
    signal: ended.signal,
    hearing: { refused: () => undefined, replied: async () => undefined, progress: () => undefined },
    jobs: {
      async readMany(ids) {
        asked.reads += 1;
        if (asked.reads === readFails) throw broken;
        return table.readMany(ids);
      },
    },
    client: {
      async submitBatch(batch) {
        asked.sends += 1;
        if (asked.sends >= sendFails) throw broken;
        await clock.sleep(10_000);
        return batch.map(({ jobId }, index) => ({ kind: "sent", index, jobId }));
      },
    },
  };
  async function* chunks() {
    for (let line = 1; line <= jobs; line += 1) yield Buffer.from(`${JSON.stringify(job(`job-${line}`))}\n`);
  }
  const running = sendAndHear(
    { lines: readJobs(chunks()), file: "jobs.jsonl", lane: undefined, waits: true, stop: () => (asked.stops += 1) },
    sender,
  ).then(
    () => "done",
    (error: unknown) => error,
  );
  return { clock, asked, running, ended };
}

describe("sending a file and hearing its replies", () => {
  test("hears of no reply once the sending has failed, for hours as it would", async () => {
    const { clock, asked, running } = aSender({ sendFails: 2 });
    await clock.advance(30_000);
    expect(await running).toBe(broken);
    const { reads } = asked;
    await clock.advance(hourMs);
    expect(asked.reads).toBe(reads);
  });

  test("sends no more once nobody can hear the replies: a failure that was told is not worked on behind", async () => {
    const { clock, asked, running } = aSender({ readFails: 4 });
    await clock.advance(30_000);
    expect(await running).toBe(broken);
    const { sends } = asked;
    await clock.advance(hourMs);
    expect(asked).toMatchObject({ sends, stops: 1 });
    expect(sends).toBeLessThan(3);
  });

  test("ends without an error when it is interrupted", async () => {
    const { clock, asked, running, ended } = aSender();
    await clock.advance(1_000);
    ended.abort();
    await clock.advance(20_000);
    expect(await running).toBe("done");
    expect(asked).toMatchObject({ sends: 1, stops: 1 });
  });
});
