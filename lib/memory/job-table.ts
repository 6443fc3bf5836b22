import type { StageRow } from "../core/stage.ts";
import {
  afterComplete,
  afterExtend,
  afterGiveBack,
  isAnswered,
  isHeldBy,
  noProgress,
  storable,
} from "../core/claim.ts";
import type { Claim, ClaimAnswer, ClaimAsk, Completed, JobRow, ReleaseAsk } from "../core/claim.ts";
import { claimGraceMs, rowFormat, sweepLateMs } from "../core/limits.ts";
import { isAmong } from "../core/reply-to.ts";
import type { ReplyTo } from "../core/reply-to.ts";
import { sweepShardOf } from "../core/sweep.ts";
import type { Due } from "../core/sweep.ts";
import type { CompleteAsk, JobTable } from "../ports.ts";

type Clause = (row: JobRow) => boolean;

// What a row must say for a write to go through, clause for clause as on DynamoDB.
const unanswered: Clause = (row) => row.reply === undefined;
const readable: Clause = (row) => row.format <= rowFormat;
const sameContent =
  (contentHash: string): Clause =>
  (row) =>
    (row.contentHash ?? contentHash) === contentHash;
const due =
  (nowMs: number): Clause =>
  (row) =>
    (row.notBeforeMs ?? nowMs) <= nowMs;
const free =
  (nowMs: number): Clause =>
  ({ state, heldUntilMs }) =>
    state === undefined || state === "queued" || (heldUntilMs ?? Infinity) < nowMs - claimGraceMs;
const heldLongerThanEver =
  (untilMs: number): Clause =>
  (row) =>
    row.heldUntilMs === undefined || row.heldUntilMs < untilMs;
const laterThanAnyRelease =
  (nowMs: number): Clause =>
  (row) =>
    row.releasedAtMs === undefined || row.releasedAtMs < nowMs;
const stillMine =
  (claim: Claim): Clause =>
  (row) =>
    isHeldBy(row, claim);
const running: Clause = (row) => row.state === "running";
const notCancelled: Clause = (row) => !row.cancelAsked;
const notAnnounced =
  (to: ReplyTo): Clause =>
  (row) =>
    !isAmong(to, row.announced);
const answeredWith =
  (reply: string): Clause =>
  (row) =>
    row.reply === reply;
const dueAsSeen =
  (sweepAtMs: number): Clause =>
  (row) =>
    row.sweepAtMs === sweepAtMs;

/** As many entries of the sweeper's index come in one answer: few, so that tests turn pages. */
const duePerPage = 3;

/** As many rows are a page of the table. */
const rowsPerPage = 3;

/** The job table in memory: each verb is one step that nothing can come between. */
export interface MemoryJobTable extends JobTable {
  /** Every row, for those who look on. */
  rows(): readonly JobRow[];
  /** Makes a row as it could not come about by the verbs alone: a newer format, a corrupt one. */
  put(row: Partial<JobRow> & Pick<JobRow, "jobId">): void;
}

export function createMemoryJobTable(): MemoryJobTable {
  const table = new Map<string, JobRow>();

  function update(jobId: string, clauses: readonly Clause[], write: (row: JobRow) => Partial<JobRow>): ClaimAnswer {
    const row = table.get(jobId) ?? unwritten(jobId);
    if (!clauses.every((holds) => holds(row))) return { kind: "refused", row: table.get(jobId) };
    const written = { ...row, ...write(row) };
    table.set(jobId, written);
    return { kind: "taken", row: written };
  }

  const exists: Clause = ({ jobId }) => table.has(jobId);

  function forget(jobId: string, ...names: readonly (keyof JobRow)[]): void {
    const row = table.get(jobId);
    if (row === undefined) return;
    const kept = { ...row };
    for (const name of names) delete kept[name];
    table.set(jobId, kept);
  }

  function unsweep(jobId: string): void {
    forget(jobId, "sweepAtMs", "sweeps", "replyTo");
  }

  function reply(
    jobId: string,
    clauses: readonly Clause[],
    ask: Omit<CompleteAsk, "progress">,
    more: Partial<JobRow> = {},
  ): Completed {
    const answer = update(jobId, clauses, (row) => ({ ...ending(ask), ...more, format: row.format || rowFormat }));
    return completed(answer, ask.reply);
  }

  return {
    async claim(ask) {
      const clauses = [unanswered, readable, sameContent(ask.contentHash), free(ask.nowMs)];
      if (ask.early !== true) clauses.push(due(ask.nowMs));
      return update(ask.jobId, [...clauses, heldLongerThanEver(ask.heldUntilMs)], (row) => ({
        ...described(row, ask),
        holder: ask.holder,
        fence: row.fence + 1,
        heldUntilMs: ask.heldUntilMs,
        state: "running",
        startedAtMs: row.startedAtMs ?? ask.nowMs,
        worker: ask.worker,
        stageBefore: row.stage ?? "queued",
        stage: "waiting",
        stageAtMs: ask.nowMs,
      }));
    },

    async extend(claim, { heldUntilMs, stage }) {
      const clauses = [unanswered, stillMine(claim), heldLongerThanEver(heldUntilMs)];
      const answer = update(claim.jobId, clauses, () => ({ heldUntilMs, ...staged(stage) }));
      return answer.kind === "taken" ? { kind: "owned", row: answer.row } : afterExtend(answer.row, claim);
    },

    async giveBack(claim, { notBeforeMs, progress, stage, replyTo }) {
      const clauses = [unanswered, stillMine(claim), notCancelled];
      const { kind, row } = update(claim.jobId, clauses, ({ givenBack, deadlineAtMs = 0 }) => ({
        state: "queued",
        givenBack: givenBack + 1,
        notBeforeMs,
        ...storable(progress),
        ...staged(stage),
        sweepAtMs: deadlineAtMs + sweepLateMs,
        ...named(replyTo),
      }));
      const back = kind === "taken" || afterGiveBack(row, claim).kind === "given-back";
      return back && row !== undefined ? { kind: "owned", row } : { kind: "lost", row };
    },

    async complete(claim, ask) {
      const { owed } = ask;
      const clauses = [unanswered, stillMine(claim)];
      const answer = update(claim.jobId, clauses, ({ unannounced }) => ({
        ...ending(ask),
        ...storable(ask.progress),
        ...(owed === undefined ? {} : { sweepAtMs: owed.dueMs, unannounced: [...unannounced, owed.to] }),
      }));
      if (answer.kind === "taken" && owed === undefined) unsweep(claim.jobId);
      return completed(answer, ask.reply);
    },

    async countRelease(ask) {
      const clauses = [unanswered, readable, sameContent(ask.contentHash), free(ask.nowMs)];
      return update(ask.jobId, [...clauses, laterThanAnyRelease(ask.nowMs)], (row) => ({
        ...described(row, ask),
        releases: row.releases + 1,
        releasedAtMs: ask.nowMs,
        state: row.state ?? "queued",
        stage: row.stage ?? "queued",
        stageAtMs: row.stageAtMs ?? ask.nowMs,
        sweepAtMs: ask.deadlineAtMs + sweepLateMs,
        ...named(ask.replyTo),
      }));
    },

    async storeReply(jobId, ask) {
      const answer = update(jobId, [unanswered, readable, sameContent(ask.contentHash)], (row) => ({
        ...ending(ask),
        ...storable(ask.progress),
        format: row.format || rowFormat,
        contentHash: ask.contentHash,
      }));
      if (answer.kind === "taken") unsweep(jobId);
      return completed(answer, ask.reply);
    },

    async markAnnounced(jobId, to) {
      update(jobId, [exists], ({ announced, unannounced }) => ({
        announced: [...without(to, announced), to],
        unannounced: without(to, unannounced),
      }));
    },

    async deferAnnouncement(jobId, to, dueMs) {
      update(jobId, [exists, notAnnounced(to)], ({ unannounced }) => ({
        unannounced: [...without(to, unannounced), to],
        sweepAtMs: dueMs,
      }));
      forget(jobId, "sweeps");
    },

    async readDue(shard, beforeMs, after) {
      const entries = [...table.values()].flatMap(({ jobId, sweepAtMs = Infinity }) =>
        sweepAtMs < beforeMs && sweepShardOf(jobId) === shard ? { jobId, sweepAtMs } : [],
      );
      const sorted = entries.toSorted((a, b) => a.sweepAtMs - b.sweepAtMs || (a.jobId < b.jobId ? -1 : 1));
      const isAfter = ({ jobId, sweepAtMs }: Due) =>
        after === undefined || sweepAtMs > after.sweepAtMs || (sweepAtMs === after.sweepAtMs && jobId > after.jobId);
      const page = sorted.filter(isAfter).slice(0, duePerPage);
      return { due: page, next: page.length < duePerPage ? undefined : page.at(-1) };
    },

    async sweepAgain({ jobId, sweepAtMs }, dueMs) {
      update(jobId, [dueAsSeen(sweepAtMs)], ({ sweeps = 0 }) => ({ sweepAtMs: dueMs, sweeps: sweeps + 1 }));
    },

    async swept({ jobId, sweepAtMs }) {
      if (table.get(jobId)?.sweepAtMs === sweepAtMs) forget(jobId, "sweepAtMs", "sweeps");
    },

    async noteRerun(jobId, seen, reruns) {
      const asSeen: Clause = (row) => JSON.stringify(row.reruns) === JSON.stringify(seen);
      return update(jobId, [exists, asSeen], () => ({ reruns })).kind === "taken";
    },

    async forget(jobId, seen, left) {
      return completed(
        update(jobId, [readable, answeredWith(seen)], () => ({ reply: left })),
        left,
      );
    },

    replyUnclaimed: async (jobId, ask) => reply(jobId, [(row) => !exists(row)], ask, { contentHash: ask.contentHash }),
    replyUnlessRunning: async (jobId, ask) => reply(jobId, [unanswered, readable, free(ask.nowMs)], ask),
    askCancel: async (jobId) => update(jobId, [unanswered, running], () => ({ cancelAsked: true })),
    async scan(which, after = "") {
      const sorted = [...table.values()].toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1));
      const page = sorted.filter(({ jobId }) => jobId > after).slice(0, rowsPerPage);
      const isAsked = (row: JobRow) => (which === "open" ? !isAnswered(row) : row.stage === which && isAnswered(row));
      return { rows: page.filter(isAsked), next: page.length < rowsPerPage ? undefined : page.at(-1)?.jobId };
    },

    read: async (jobId) => table.get(jobId),
    readMany: async (jobIds) => [...new Set(jobIds)].flatMap((jobId) => table.get(jobId) ?? []),
    rows: () => [...table.values()],
    put(row) {
      table.set(row.jobId, { ...unwritten(row.jobId), ...row });
    },
  };
}

function unwritten(jobId: string): JobRow {
  return {
    jobId,
    format: 0,
    fence: 0,
    givenBack: 0,
    cancelAsked: false,
    announced: [],
    unannounced: [],
    ...noProgress,
  };
}

function described(row: JobRow, ask: ClaimAsk | ReleaseAsk): Partial<JobRow> {
  return {
    format: rowFormat,
    contentHash: ask.contentHash,
    deadlineAtMs: ask.deadlineAtMs,
    enqueuedAtMs: row.enqueuedAtMs ?? ask.enqueuedAtMs,
    lane: ask.lane,
  };
}

function ending({ reply, status, nowMs }: Omit<CompleteAsk, "progress">): Partial<JobRow> {
  return { reply, state: "ended", stage: status, stageAtMs: nowMs };
}

function completed(answer: ClaimAnswer, reply: string): Completed {
  const ours = answer.kind === "taken" || afterComplete(answer.row, reply) === "stored";
  return ours ? { kind: "stored" } : { kind: "lost", row: answer.row };
}

function staged({ stage, stageAtMs, step, cause }: StageRow): Partial<JobRow> {
  return { stage, stageAtMs, ...(step === undefined ? {} : { step }), ...(cause === undefined ? {} : { cause }) };
}

function named(replyTo: ReplyTo | undefined): Partial<JobRow> {
  return replyTo === undefined ? {} : { replyTo };
}

function without(to: ReplyTo, destinations: readonly ReplyTo[]): readonly ReplyTo[] {
  return destinations.filter((other) => !isAmong(to, [other]));
}
