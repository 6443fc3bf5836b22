import { describe, expect, test } from "vitest";

import { sendAndHear } from "../../lib/cli/submit-file.ts";
import type { Sender } from "../../lib/cli/submit-file.ts";
import { Sums } from "../../lib/cli/sums.ts";
import type { JobRow } from "../../lib/core/claim.ts";
import type { Reply } from "../../lib/core/reply.ts";
import { readJobs } from "../../lib/client/index.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { a, t0 } from "../a.ts";
import { job } from "../local/files.ts";

const hourMs = 3_600_000;
const broken = new Error("a bug of ours");
const dropped = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const troubled = Object.assign(new Error("try again"), {
  name: "InternalServerError",
  $metadata: { httpStatusCode: 500 },
});
const throttled = Object.assign(new Error("slower"), { name: "ThrottlingException" });
const expired = Object.assign(new Error("expired"), { name: "ExpiredTokenException" });

/** When a job of the file is answered, by its place from 0 and by when it was sent. */
type Answers = (place: number, sentAtMs: number) => number;

const never: Answers = () => Infinity;

/** Of reads: with what, from when and until when. */
interface Silence {
  readonly error: Error;
  readonly fromMs: number;
  readonly toMs: number;
}

const heardAlways: Silence = { error: broken, fromMs: Infinity, toMs: Infinity };

/** A sender of so many jobs, of which nobody answers one unless told when; each of its two sides can be made to fail. */
function aSender({
  jobs = 1_500,
  sendFails = Infinity,
  readFails = 0,
  sendMs = 10_000,
  answers = never,
  silence = heardAlways,
  text = "",
} = {}) {
  const clock = createVirtualClock(t0);
  const answeredAtMs = new Map<string, number>();
  const heard: { readonly jobId: string; readonly lateMs: number }[] = [];
  const troubles: string[] = [];
  const batches: number[] = [];
  let bytes = 0;
  const asked = { sends: 0, reads: 0, stops: 0 };
  const ended = new AbortController();
  const sender: Sender = {
    clock,
    bucket: undefined,
    sums: new Sums(undefined),
    signal: ended.signal,
    hearing: {
      refused: () => undefined,
      replied: hears,
      progress: () => undefined,
      silence: (what) => void troubles.push(what),
    },
    jobs: {
      async readMany(ids) {
        asked.reads += 1;
        if (asked.reads === readFails) throw broken;
        const afterMs = clock.nowMs() - t0;
        if (ids.length > 0 && afterMs >= silence.fromMs && afterMs < silence.toMs) throw silence.error;
        return ids.filter((jobId) => (answeredAtMs.get(jobId) ?? Infinity) <= clock.nowMs()).map(answeredRow);
      },
    },
    client: {
      async submitBatch(batch) {
        asked.sends += 1;
        batches.push(batch.length);
        if (asked.sends >= sendFails) throw broken;
        await clock.sleep(sendMs);
        for (const { jobId } of batch) answeredAtMs.set(jobId, answers(answeredAtMs.size, clock.nowMs()));
        return batch.map(({ jobId }, index) => ({ kind: "sent", index, jobId }));
      },
    },
  };
  async function hears({ jobId }: Reply) {
    heard.push({ jobId, lateMs: clock.nowMs() - (answeredAtMs.get(jobId) ?? Infinity) });
  }
  async function* chunks() {
    for (let place = 1; place <= jobs; place += 1) {
      const line = Buffer.from(`${JSON.stringify({ ...job(`job-${place}`), params: { messages: [], text } })}\n`);
      bytes += line.length;
      yield line;
    }
  }
  const running = sendAndHear(
    {
      lines: readJobs(chunks()),
      bytesRead: () => bytes,
      file: "jobs.jsonl",
      lane: undefined,
      waits: true,
      stop: () => (asked.stops += 1),
    },
    sender,
  ).then(
    () => "done",
    (error: unknown) => error,
  );
  return { clock, asked, batches, heard, troubles, running, ended };
}

function answeredRow(jobId: string): JobRow {
  const reply: Reply = {
    jobId,
    ok: false,
    status: "cancelled",
    error: { code: "cancelled", message: "", retryable: false },
    meta: a.meta(),
    metadata: {},
  };
  return a.bareRow({ jobId, reply: JSON.stringify(reply) });
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

  test("hears of jobs soon that are answered as they were sent, however many are open", async () => {
    const { clock, asked, heard, running } = aSender({
      jobs: 10_000,
      sendMs: 100,
      answers: (place) => t0 + 4_000 + place * 4,
    });
    await clock.advance(60_000);
    expect(await running).toBe("done");
    expect(heard).toHaveLength(10_000);
    expect(Math.max(...heard.map(({ lateMs }) => lateMs))).toBeLessThan(2_500);
    expect(asked.reads).toBeLessThan(130);
  });

  test("hears of the others within two rounds while the oldest wait", async () => {
    const { clock, heard } = aSender({
      jobs: 10_000,
      sendMs: 100,
      answers: (place) => (place < 1_000 ? Infinity : t0 + 4_000 + place * 4),
    });
    await clock.advance(120_000);
    expect(heard).toHaveLength(9_000);
    expect(Math.max(...heard.map(({ lateMs }) => lateMs))).toBeLessThan(40_000);
  });

  test("sends five hundred jobs at a time, and fewer of long lines: of these no more than 8 MB are in memory", async () => {
    const short = aSender({ jobs: 1_200, sendMs: 10 });
    await short.clock.advance(1_000);
    expect(short.batches).toEqual([500, 500, 200]);
    const long = aSender({ jobs: 20, sendMs: 10, text: "x".repeat(1_000_000) });
    await long.clock.advance(1_000);
    expect(long.batches).toEqual([8, 8, 4]);
  });

  const answersLater: Answers = (_place, sentAtMs) => sentAtMs + 40_000;

  test.each([
    ["a connection that drops", dropped],
    ["a table that has trouble of its own", troubled],
    ["a table that throttles", throttled],
  ])("goes on after %s for a while, told once, and once that it goes on", async (_says, error) => {
    const { clock, heard, troubles, running } = aSender({
      answers: answersLater,
      silence: { error, fromMs: 5_000, toMs: 60_000 },
    });
    await clock.advance(300_000);
    expect(await running).toBe("done");
    expect(heard).toHaveLength(1_500);
    expect(troubles).toEqual([
      expect.stringMatching(/^.+; the job table is asked again for 60 s$/),
      "the job table answers again",
    ]);
  });

  test("ends once nobody has answered for a minute", async () => {
    const { clock, running } = aSender({ silence: { error: dropped, fromMs: 35_000, toMs: Infinity } });
    await clock.advance(90_000);
    const early = await Promise.race([running, Promise.resolve("waits")]);
    expect(early).toBe("waits");
    await clock.advance(20_000);
    expect(await running).toBe(dropped);
  });

  test("ends at once for what stays wrong, and where nobody has answered yet", async () => {
    const login = aSender({ silence: { error: expired, fromMs: 35_000, toMs: Infinity } });
    await login.clock.advance(40_000);
    expect(await login.running).toBe(expired);
    const nobody = aSender({ silence: { error: dropped, fromMs: 0, toMs: Infinity } });
    await nobody.clock.advance(100);
    expect(await nobody.running).toBe(dropped);
    expect([...login.troubles, ...nobody.troubles]).toEqual([]);
  });

  test("ends without an error when it is interrupted while nobody answers, and sends nothing unread", async () => {
    const { clock, asked, running, ended } = aSender({ silence: { error: dropped, fromMs: 5_000, toMs: Infinity } });
    await clock.advance(20_000);
    ended.abort();
    await clock.advance(1_000);
    expect(await running).toBe("done");
    expect(asked.sends).toBe(1);
  });
});
