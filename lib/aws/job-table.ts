import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  GetItemCommand,
  QueryCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient, ReturnValue } from "@aws-sdk/client-dynamodb";
import { afterComplete, afterExtend, afterGiveBack } from "../core/claim.ts";
import type { ClaimAnswer, Completed, JobRow } from "../core/claim.ts";
import { claimGraceMs, sweepLateMs } from "../core/limits.ts";
import { sweepIndex, sweepShardOf } from "../core/sweep.ts";
import type { Due } from "../core/sweep.ts";
import type { Clock, CompleteAsk, JobTable, StoreReplyAsk } from "../ports.ts";
import {
  askCancelIf,
  attributes,
  claimEarlyIf,
  claimIf,
  completeIf,
  countReleaseIf,
  deferAnnouncementIf,
  destination,
  ending,
  extendIf,
  forgetIf,
  giveBackIf,
  markAnnouncedIf,
  mine,
  numbers,
  progressAttributes,
  replyUnclaimedIf,
  replyUnlessRunningIf,
  rerunFirstIf,
  rerunIf,
  rowOf,
  scanEnded,
  scanOpen,
  set,
  setProgress,
  setReplyTo,
  setPlace,
  setStage,
  states,
  storeReplyIf,
  sweepAfterDeadline,
  sweepWhenDue,
  sweeping,
  sweptIf,
  unsweep,
  unsweepAnswered,
} from "./job-rows.ts";
import { keysPerReadMax, mentioned, readNumber, readString } from "./row.ts";
import type { Item } from "./row.ts";

/** A stored reply need not come back over the wire to the one who sent it. */
const notTheReplyAgain: ReturnValue = "NONE";

const readTriesMax = 8;
const readPauseMs = 50;

/** Entries of the sweeper's index in one answer. */
const duePerPage = 100;

/** The job table on DynamoDB: one conditional UpdateItem a verb. Its key is `jobId`, its TTL attribute `ttl`. */
export function createJobTable(dynamo: DynamoDBClient, tableName: string, clock: Pick<Clock, "sleep">): JobTable {
  /** The row after the write (as far as it is `returned`), or the row that refused it. */
  async function update(
    jobId: string,
    condition: string,
    write: string,
    values: Item,
    returned: ReturnValue = "ALL_NEW",
  ): Promise<ClaimAnswer> {
    try {
      const { Attributes = {} } = await dynamo.send(
        new UpdateItemCommand({
          TableName: tableName,
          Key: { jobId: { S: jobId } },
          ConditionExpression: condition,
          UpdateExpression: write,
          ...mentioned([condition, write], values),
          ReturnValues: returned,
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        }),
      );
      return { kind: "taken", row: rowOf(Attributes) };
    } catch (refusal) {
      if (!(refusal instanceof ConditionalCheckFailedException)) throw refusal;
      // Some engines keep the row that refused to themselves, and DynamoDB has none to show where none exists.
      return { kind: "refused", row: refusal.Item === undefined ? await read(jobId) : rowOf(refusal.Item) };
    }
  }

  async function read(jobId: string): Promise<JobRow | undefined> {
    const { Item } = await dynamo.send(
      new GetItemCommand({ TableName: tableName, Key: { jobId: { S: jobId } }, ConsistentRead: true }),
    );
    return Item === undefined ? undefined : rowOf(Item);
  }

  async function reply(
    jobId: string,
    condition: string,
    ask: Omit<CompleteAsk, "progress"> & Partial<StoreReplyAsk>,
    further = "",
  ): Promise<Completed> {
    const { contentHash, progress } = ask;
    const write = set(
      "#reply = :reply",
      "#state = :ended",
      "#ttl = :ttl",
      "#format = if_not_exists(#format, :format)",
      ...(contentHash === undefined ? [] : ["#contentHash = :contentHash"]),
      ...(progress === undefined ? [] : setProgress),
      ...setStage,
    );
    const values = {
      ...ending(ask),
      ...attributes({ contentHash }),
      ...(progress === undefined ? {} : progressAttributes(progress)),
    };
    return completed(await update(jobId, condition, write + further, values, notTheReplyAgain), ask.reply);
  }

  return {
    claim(ask) {
      const write = set(
        "#holder = :holder",
        "#fence = if_not_exists(#fence, :zero) + :one",
        "#heldUntilMs = :heldUntilMs",
        "#state = :running",
        "#format = :format",
        "#contentHash = :contentHash",
        "#deadlineAtMs = :deadlineAtMs",
        "#enqueuedAtMs = if_not_exists(#enqueuedAtMs, :enqueuedAtMs)",
        "#startedAtMs = if_not_exists(#startedAtMs, :nowMs)",
        "#lane = :lane",
        "#worker = :worker",
        "#stageBefore = if_not_exists(#stage, :queued)",
        ...setStage,
      );
      return update(ask.jobId, ask.early === true ? claimEarlyIf : claimIf, write, {
        ...attributes(ask),
        ...states,
        ...numbers,
        ...attributes({ abandonedBeforeMs: ask.nowMs - claimGraceMs, stage: "waiting", stageAtMs: ask.nowMs }),
      });
    },

    async extend(claim, { heldUntilMs, stage }) {
      const write = set("#heldUntilMs = :heldUntilMs", ...setStage, ...setPlace(stage));
      const values = { ...states, ...mine(claim), ...attributes({ heldUntilMs, ...stage }) };
      const answer = await update(claim.jobId, extendIf, write, values);
      return answer.kind === "taken" ? { kind: "owned", row: answer.row } : afterExtend(answer.row, claim);
    },

    async giveBack(claim, { notBeforeMs, progress, stage, replyTo }) {
      const write = set(
        "#state = :queued",
        "#givenBack = if_not_exists(#givenBack, :zero) + :one",
        "#notBeforeMs = :notBeforeMs",
        ...setProgress,
        ...setStage,
        ...setPlace(stage),
        ...sweepAfterDeadline,
        ...setReplyTo(replyTo),
      );
      const values = { ...states, ...numbers, ...mine(claim), ...progressAttributes(progress) };
      const answer = await update(claim.jobId, giveBackIf, write, {
        ...values,
        ...attributes({ notBeforeMs, ...stage }),
        ...sweeping(claim.jobId, replyTo),
      });
      const { row } = answer;
      const back = answer.kind === "taken" || afterGiveBack(row, claim).kind === "given-back";
      return back && row !== undefined ? { kind: "owned", row } : { kind: "lost", row };
    },

    async complete(claim, ask) {
      const { owed, progress, reply: text } = ask;
      const end = ["#reply = :reply", "#state = :ended", "#ttl = :ttl", ...setStage, ...setProgress];
      const values = { ...mine(claim), ...ending(ask), ...progressAttributes(progress) };
      const [write, more] =
        owed === undefined
          ? [`${set(...end)} ${unsweepAnswered}`, {}]
          : [
              `${set(...end, ...sweepWhenDue)} ADD #unannounced :to`,
              { ...destination(owed.to), ...attributes({ dueMs: owed.dueMs }), ...sweeping(claim.jobId) },
            ];
      return completed(await update(claim.jobId, completeIf, write, { ...values, ...more }, notTheReplyAgain), text);
    },

    countRelease(ask) {
      const write = set(
        "#releases = if_not_exists(#releases, :zero) + :one",
        "#releasedAtMs = :nowMs",
        "#state = if_not_exists(#state, :queued)",
        "#format = :format",
        "#contentHash = :contentHash",
        "#deadlineAtMs = :deadlineAtMs",
        "#enqueuedAtMs = if_not_exists(#enqueuedAtMs, :enqueuedAtMs)",
        "#lane = :lane",
        "#stage = if_not_exists(#stage, :queued)",
        "#stageAtMs = if_not_exists(#stageAtMs, :nowMs)",
        ...sweepWhenDue,
        ...setReplyTo(ask.replyTo),
      );
      const abandonedBeforeMs = ask.nowMs - claimGraceMs;
      const dueMs = ask.deadlineAtMs + sweepLateMs;
      const values = { ...attributes(ask), ...states, ...numbers, ...attributes({ abandonedBeforeMs, dueMs }) };
      return update(ask.jobId, countReleaseIf, write, { ...values, ...sweeping(ask.jobId, ask.replyTo) });
    },

    async markAnnounced(jobId, to) {
      const write = "ADD #announced :to DELETE #unannounced :to";
      await update(jobId, markAnnouncedIf, write, destination(to), "NONE");
    },

    async deferAnnouncement(jobId, to, dueMs) {
      const write = `${set(...sweepWhenDue)} REMOVE #sweeps ADD #unannounced :to`;
      const values = { ...destination(to), ...attributes({ dueMs }), ...sweeping(jobId) };
      await update(jobId, deferAnnouncementIf, write, values, "NONE");
    },

    async readDue(shard, beforeMs, after) {
      const condition = "#sweepShard = :shard AND #sweepAtMs < :beforeMs";
      const { Items = [], LastEvaluatedKey } = await dynamo.send(
        new QueryCommand({
          TableName: tableName,
          IndexName: sweepIndex.name,
          KeyConditionExpression: condition,
          ...mentioned([condition], attributes({ shard, beforeMs })),
          Limit: duePerPage,
          ...(after === undefined
            ? {}
            : { ExclusiveStartKey: attributes({ sweepShard: sweepShardOf(after.jobId), ...after }) }),
        }),
      );
      return { due: Items.flatMap(dueOf), next: LastEvaluatedKey && dueOf(LastEvaluatedKey)[0] };
    },

    async sweepAgain({ jobId, sweepAtMs }, dueMs) {
      const write = set("#sweepAtMs = :dueMs", "#sweeps = if_not_exists(#sweeps, :zero) + :one");
      await update(jobId, sweptIf, write, { ...numbers, ...attributes({ sweepAtMs, dueMs }) }, "NONE");
    },

    async swept({ jobId, sweepAtMs }) {
      await update(jobId, sweptIf, unsweep, attributes({ sweepAtMs }), "NONE");
    },

    async noteRerun(jobId, seen, reruns) {
      const condition = seen === undefined ? rerunFirstIf : rerunIf;
      const maps = attributes({ reruns: JSON.stringify(reruns), seen: JSON.stringify(seen ?? {}) });
      return (await update(jobId, condition, set("#reruns = :reruns"), maps, "NONE")).kind === "taken";
    },

    async forget(jobId, seen, left) {
      const values = { ...numbers, ...attributes({ seen, left }) };
      return completed(await update(jobId, forgetIf, set("#reply = :left"), values, notTheReplyAgain), left);
    },

    storeReply: (jobId, ask) => reply(jobId, storeReplyIf, ask, ` ${unsweepAnswered}`),
    replyUnclaimed: (jobId, ask) => reply(jobId, replyUnclaimedIf, ask),
    replyUnlessRunning: (jobId, ask) => reply(jobId, replyUnlessRunningIf, ask),

    askCancel(jobId, nowMs) {
      const write = set("#cancelAskedAtMs = if_not_exists(#cancelAskedAtMs, :nowMs)");
      return update(jobId, askCancelIf, write, { ...states, ...attributes({ nowMs }) });
    },

    async scan(which, after) {
      const condition = which === "open" ? scanOpen : scanEnded;
      const { Items = [], LastEvaluatedKey } = await dynamo.send(
        new ScanCommand({
          TableName: tableName,
          FilterExpression: condition,
          ...mentioned([condition], attributes({ which })),
          ...(after === undefined ? {} : { ExclusiveStartKey: attributes({ jobId: after }) }),
        }),
      );
      return { rows: Items.map(rowOf), next: LastEvaluatedKey && readString(LastEvaluatedKey, "jobId") };
    },

    read,

    async readMany(jobIds) {
      const rows: JobRow[] = [];
      let ids = [...new Set(jobIds)];
      for (let tries = 0; ids.length > 0;) {
        const asked = ids.slice(0, keysPerReadMax);
        const { Responses, UnprocessedKeys } = await dynamo.send(
          new BatchGetItemCommand({
            RequestItems: { [tableName]: { Keys: asked.map((id) => ({ jobId: { S: id } })), ConsistentRead: true } },
          }),
        );
        rows.push(...(Responses?.[tableName] ?? []).map(rowOf));
        // A big answer is cut at 16 MB, a throttled one anywhere: what is left out comes back as keys.
        const left = (UnprocessedKeys?.[tableName]?.Keys ?? []).flatMap((key) => key["jobId"]?.S ?? []);
        ids = [...left, ...ids.slice(keysPerReadMax)];
        tries = left.length < asked.length ? 0 : tries + 1;
        if (tries > readTriesMax) throw new Error(`DynamoDB left ${left.length} rows unread, ${tries} times in a row`);
        if (left.length > 0) await clock.sleep(readPauseMs * 2 ** tries);
      }
      return rows;
    },
  };
}

function dueOf(item: Item): Due[] {
  const [jobId, sweepAtMs] = [readString(item, "jobId"), readNumber(item, "sweepAtMs")];
  return jobId === undefined || sweepAtMs === undefined ? [] : [{ jobId, sweepAtMs }];
}

function completed(answer: ClaimAnswer, reply: string): Completed {
  const ours = answer.kind === "taken" || afterComplete(answer.row, reply) === "stored";
  return ours ? { kind: "stored" } : { kind: "lost", row: answer.row };
}
