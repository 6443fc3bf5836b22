import { describe, expect, test } from "vitest";
import type { JobRow } from "../../lib/core/claim.ts";
import {
  claimGraceMs,
  holdMs,
  rowFormat,
  sweepEveryMs,
  sweepLateMs,
  sweepUnreturnedLateMs,
} from "../../lib/core/limits.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { nextSweepMs, sweepIndex, sweepOf, sweepShardOf, sweepShards, sweeperName } from "../../lib/core/sweep.ts";
import type { Sweep } from "../../lib/core/sweep.ts";
import { a, t0 } from "../a.ts";

const queue: ReplyTo = { kind: "sqs", queueUrl: "https://sqs.us-west-2.amazonaws.com/1/done" };
const token: ReplyTo = { kind: "taskToken", token: "AAAA", heartbeatSeconds: 60 };
const deadlineAtMs = t0 + 3_600_000;
const lateMs = deadlineAtMs + sweepLateMs;
const reply = '{"ok":true}';
const without = (row: JobRow, name: keyof JobRow): JobRow => {
  const { [name]: _left, ...rest } = row;
  return rest as JobRow;
};

describe("a row that is due", () => {
  const waiting = a.row({ state: "queued" });
  const answered = a.row({ state: "ended", reply });
  const tell = (...to: ReplyTo[]): Sweep => ({ kind: "announce", reply, to });
  const end: Sweep["kind"] = "end";

  const rows: [says: string, row: JobRow | undefined, nowMs: number, becomes: Sweep | Sweep["kind"]][] = [
    ["that has gone is left", undefined, lateMs, "leave"],
    ["of a newer format is left", { ...waiting, format: rowFormat + 1 }, lateMs, "leave"],
    ["of a newer format is left with its reply too", { ...answered, format: rowFormat + 1 }, lateMs, "leave"],
    ["of a job that waits is ended a quarter of an hour past its deadline", waiting, lateMs, end],
    ["of a job that waits is left until then", waiting, lateMs - 1, "leave"],
    ["of a job whose worker died is left: its reply may be on its way", a.row({ heldUntilMs: 1 }), lateMs, "leave"],
    ["and ended when a day has passed", a.row({ heldUntilMs: 1 }), deadlineAtMs + sweepUnreturnedLateMs, end],
    [
      "of a job that a sweep has left behind is ended: no reply of its is on its way",
      a.row({ heldUntilMs: 1, worker: sweeperName }),
      lateMs,
      end,
    ],
    ["of a job that was cancelled is ended", a.row({ heldUntilMs: 1, cancelAsked: true }), lateMs, end],
    ["of a job that a worker may still hold is left", a.row({ heldUntilMs: lateMs - claimGraceMs }), lateMs, "leave"],
    ["that runs and does not say until when is left", without(a.row(), "heldUntilMs"), lateMs, "leave"],
    ["that does not name its content is left", without(waiting, "contentHash"), lateMs, "leave"],
    ["that does not name its deadline is left", without(waiting, "deadlineAtMs"), lateMs, "leave"],
    ["that does not name its beginning is left", without(waiting, "enqueuedAtMs"), lateMs, "leave"],
    ["that does not name its lane is left", without(waiting, "lane"), lateMs, "leave"],
    ["with a reply that nobody waits for is settled", answered, t0, "settled"],
    [
      "with a reply that all have been told of is settled",
      { ...answered, announced: [queue], replyTo: queue },
      t0,
      "settled",
    ],
    ["with a reply is announced to whoever could not be told", { ...answered, unannounced: [queue] }, t0, tell(queue)],
    ["of a job that was cancelled while it waited is announced", { ...answered, replyTo: token }, t0, tell(token)],
    [
      "is announced to nobody twice",
      { ...answered, unannounced: [queue, token], replyTo: token, announced: [queue] },
      t0,
      tell(token),
    ],
    [
      "is announced to whoever could not be told and to the one who was never tried",
      { ...answered, unannounced: [queue], replyTo: token },
      t0,
      tell(queue, token),
    ],
    [
      "with a reply is announced even if its claim never ended",
      { ...a.row({ reply }), unannounced: [queue] },
      t0,
      tell(queue),
    ],
  ];
  test.each(rows)("%s", (_says, row, nowMs, becomes) => {
    const swept = sweepOf(row, nowMs);
    expect(typeof becomes === "string" ? swept.kind : swept).toEqual(becomes);
  });

  test("to be ended shows the row", () => {
    expect(sweepOf(waiting, lateMs + holdMs)).toEqual({ kind: "end", row: waiting });
  });
});

describe("an announcement that failed again", () => {
  const minutes = (sweeps: number, goneAtMs = Infinity) => {
    const nextMs = nextSweepMs(sweeps, t0, goneAtMs);
    return nextMs === undefined ? undefined : (nextMs - t0) / 60_000;
  };

  test("waits twice as long each time, and six hours at most", () => {
    expect([0, 1, 2, 5, 6, 7, 8, 2_000].map((sweeps) => minutes(sweeps))).toEqual([5, 10, 20, 160, 320, 360, 360, 360]);
  });

  test("is given up when the row will have gone by then", () => {
    expect(minutes(0, t0 + sweepEveryMs + 1)).toBe(5);
    expect(minutes(0, t0 + sweepEveryMs)).toBeUndefined();
  });
});

describe("the shards of the index", () => {
  test.each([
    ["numbered", (index: number) => `job-${index}`],
    ["padded", (index: number) => `order-${String(index).padStart(8, "0")}-summary`],
    ["hexadecimal", (index: number) => (index * 2_654_435_761).toString(16)],
    ["all but alike in their beginnings", (index: number) => `${index}-${"x".repeat(100)}`],
  ])("share %s ids evenly", (_says, idOf) => {
    const counts = new Map(sweepShards.map((shard) => [shard, 0]));
    for (let index = 0; index < 16_000; index += 1) {
      const shard = sweepShardOf(idOf(index));
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(sweepShards.length);
    expect(Math.min(...counts.values())).toBeGreaterThan(700);
    expect(Math.max(...counts.values())).toBeLessThan(1_300);
  });

  test("are the same in every version: rows are in them", () => {
    expect(["order-8812-summary", "job-1", "", "é"].map(sweepShardOf)).toMatchInlineSnapshot(`
      [
        "2",
        "4",
        "9",
        "15",
      ]
    `);
  });
});

test("the index has its names for good: rows that were written bear them", () =>
  expect(sweepIndex).toEqual({ name: "sweep", partitionKey: "sweepShard", sortKey: "sweepAtMs" }));
