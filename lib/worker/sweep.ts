import { progressOf, verdict } from "../core/claim.ts";
import type { ClaimAsk, JobRow } from "../core/claim.ts";
import type { Config } from "../core/config.ts";
import { endings } from "../core/endings.ts";
import { errorName } from "../core/error-name.ts";
import { announceRetryMs, closingBellMs, holdMs, lastCallMs, recordsConcurrencyMax } from "../core/limits.ts";
import type { Tags } from "../core/noted.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import { metaOfRow, replyOf, replyText, replyTtlS } from "../core/reply.ts";
import type { Ending } from "../core/reply.ts";
import { nextSweepMs, sweepOf, sweepShards } from "../core/sweep.ts";
import type { Due, Sweep } from "../core/sweep.ts";
import type { World } from "../ports.ts";
import { tell } from "./announce.ts";
import { atMost } from "./at-most.ts";
import { noteReply } from "./replies.ts";

/** The sweeper, which looks at what no message will bring up again. */
export interface Sweeper {
  readonly config: Config;
  readonly world: Pick<World, "announcer" | "clock" | "jobs" | "telemetry">;
  readonly name: string;
  readonly version: string;
}

/** Looks at every row that is due, until the invocation's end is near; what is left then is the next sweep's. */
export async function sweep(sweeper: Sweeper, endsAtMs: number): Promise<void> {
  const { clock, telemetry } = sweeper.world;
  const count = { due: 0, ended: 0 };
  const swept = sweepShardsUntil(sweeper, endsAtMs - closingBellMs, count);
  await atMost(clock, endsAtMs - lastCallMs - clock.nowMs(), swept);
  telemetry.note({ kind: "swept", ...count });
}

interface Count {
  due: number;
  ended: number;
}

async function sweepShardsUntil(sweeper: Sweeper, untilMs: number, count: Count): Promise<void> {
  const { clock, telemetry } = sweeper.world;
  // Each time from another one on: no shard is always the one that there was no time for.
  const first = Math.floor(clock.jitter() * sweepShards.length);
  for (const shard of [...sweepShards.slice(first), ...sweepShards.slice(0, first)]) {
    try {
      await sweepShard(sweeper, shard, untilMs, count);
    } catch (error) {
      telemetry.note({ kind: "trouble", what: "read what is due", error: errorName(error) });
    }
  }
}

async function sweepShard(sweeper: Sweeper, shard: string, untilMs: number, count: Count): Promise<void> {
  const { clock, jobs } = sweeper.world;
  const beforeMs = clock.nowMs();
  for (let after: Due | undefined; ;) {
    if (clock.nowMs() >= untilMs) return;
    const { due, next } = await jobs.readDue(shard, beforeMs, after);
    for (let from = 0; from < due.length && clock.nowMs() < untilMs; from += recordsConcurrencyMax)
      await Promise.all(due.slice(from, from + recordsConcurrencyMax).map((each) => guarded(sweeper, each, count)));
    if (next === undefined) return;
    after = next;
  }
}

/** A row that makes trouble is its own trouble, and due again. */
async function guarded(sweeper: Sweeper, due: Due, count: Count): Promise<void> {
  count.due += 1;
  try {
    if ((await sweepOne(sweeper, due)) === "ended") count.ended += 1;
  } catch (error) {
    const { jobId } = due;
    sweeper.world.telemetry.note({ jobId, kind: "trouble", what: "sweep a job", error: errorName(error) });
  }
}

async function sweepOne(sweeper: Sweeper, due: Due): Promise<"ended" | undefined> {
  const { clock, jobs } = sweeper.world;
  const row = await jobs.read(due.jobId);
  // The index is a moment behind its table.
  if (row?.sweepAtMs !== due.sweepAtMs) return undefined;
  const next = sweepOf(row, clock.nowMs());
  switch (next.kind) {
    case "leave":
      return undefined;
    case "settled":
      await jobs.swept(due);
      return undefined;
    case "announce":
      await tellAll(sweeper, due, row, next);
      return undefined;
    case "end":
      return await end(sweeper, next.row);
  }
}

/** Tells all that are owed the reply. What fails is due again, ever later, for as long as there is a reply to tell of. */
async function tellAll(
  { config, world }: Sweeper,
  due: Due,
  row: Pick<JobRow, "jobId" | "lane" | "stageAtMs" | "sweeps">,
  { reply, to }: Pick<Extract<Sweep, { kind: "announce" }>, "reply" | "to">,
): Promise<void> {
  const { clock, jobs, telemetry } = world;
  const { jobId } = row;
  const tags = tagsOf(row);
  const failed: ReplyTo[] = [];
  for (const destination of to) {
    const how = await tell(world, { jobId, reply }, destination, tags, (act) => act());
    if (how !== "told") failed.push(destination);
  }
  if (failed.length === 0) return jobs.swept(due);

  const nowMs = clock.nowMs();
  const goneAtMs = replyTtlS(row.stageAtMs ?? nowMs, config.replies.ttlDays) * 1_000;
  const nextMs = nextSweepMs(row.sweeps ?? 0, nowMs, goneAtMs);
  if (nextMs !== undefined) return jobs.sweepAgain(due, nextMs);
  for (const { kind: by } of failed) telemetry.note({ ...tags, kind: "announcement-given-up", by });
  return jobs.swept(due);
}

/** A job whose message is gone is ended under its claim, as by any worker; who waits for it is owed the reply from then on. */
async function end(sweeper: Sweeper, row: Extract<Sweep, { kind: "end" }>["row"]): Promise<"ended" | undefined> {
  const { config, name, version, world } = sweeper;
  const { clock, jobs } = world;
  const { jobId, contentHash, deadlineAtMs, enqueuedAtMs, lane, replyTo } = row;
  const nowMs = clock.nowMs();
  const holding = { holder: clock.newId(), nowMs, heldUntilMs: nowMs + holdMs, worker: name };
  const claimAsk: ClaimAsk = { jobId, contentHash, deadlineAtMs, enqueuedAtMs, lane, ...holding };
  const says = verdict(await jobs.claim(claimAsk), claimAsk, nowMs);
  if (!("claim" in says)) return undefined; // somebody was faster, and the row will be due again

  const meta = metaOfRow(row, nowMs, { worker: name, workerVersion: version });
  const ending: Ending =
    says.kind === "cancelled" ? { kind: "cancelled" } : { kind: "expired", error: endings.messageLost() };
  const reply = replyOf({ jobId, metadata: {} }, ending, meta);
  const owed = replyTo === undefined ? undefined : { to: replyTo, dueMs: nowMs + announceRetryMs };
  const text = replyText(reply);
  const progress = progressOf(says.row);
  const ttlS = replyTtlS(nowMs, config.replies.ttlDays);
  const ask = { nowMs, reply: text, status: reply.status, ttlS, progress, ...(owed === undefined ? {} : { owed }) };
  const completed = await jobs.complete(says.claim, ask).catch(async (error: unknown) => {
    // A claim that is not given back looks like a dead worker's, whose reply may be on its way.
    await jobs.giveBack(says.claim, {
      nowMs,
      notBeforeMs: nowMs,
      progress,
      stage: { stage: "queued", stageAtMs: nowMs },
    });
    throw error;
  });
  if (completed.kind === "lost") return undefined;

  noteReply(world, reply, tagsOf(row));
  if (owed !== undefined) {
    const due = { jobId, sweepAtMs: owed.dueMs };
    await tellAll(sweeper, due, { jobId, lane, stageAtMs: nowMs }, { reply: text, to: [owed.to] });
  }
  return "ended";
}

function tagsOf({ jobId, lane }: Pick<JobRow, "jobId" | "lane">): Tags {
  return { jobId, ...(lane === undefined ? {} : { lane }) };
}
