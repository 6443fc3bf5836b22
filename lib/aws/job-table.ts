import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  GetItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { AttributeValue, DynamoDBClient, ReturnValue } from "@aws-sdk/client-dynamodb";
import { afterComplete, afterExtend, afterGiveBack, noProgress, progressFrom, storable } from "../core/claim.ts";
import type { Claim, ClaimAnswer, Completed, JobRow, Progress } from "../core/claim.ts";
import { isLane } from "../core/lane.ts";
import { claimGraceMs, rowFormat } from "../core/limits.ts";
import type { StageRow } from "../core/stage.ts";
import type { Clock, CompleteAsk, JobTable } from "../ports.ts";
import { attribute, keysPerReadMax, mentioned, readNumber, readString } from "./row.ts";
import type { Item } from "./row.ts";

// What a row must say for a write to go through.
const exists = "attribute_exists(#jobId)";
const isNew = "attribute_not_exists(#jobId)";
const unanswered = "attribute_not_exists(#reply)";
const readable = "(attribute_not_exists(#format) OR #format <= :format)";
const sameContent = "(attribute_not_exists(#contentHash) OR #contentHash = :contentHash)";
const due = "(attribute_not_exists(#notBeforeMs) OR #notBeforeMs <= :nowMs)";
const free = "(attribute_not_exists(#state) OR #state = :queued OR #heldUntilMs < :abandonedBeforeMs)";
/** A late copy of an old claim comes with an old end: it changes nothing. */
const heldLongerThanEver = "(attribute_not_exists(#heldUntilMs) OR #heldUntilMs < :heldUntilMs)";
/** And so comes a late copy of a counted release. */
const laterThanAnyRelease = "(attribute_not_exists(#releasedAtMs) OR #releasedAtMs < :nowMs)";
const stillMine = "#holder = :holder AND #fence = :fence AND #state = :running";
const running = "#state = :running";
const notCancelled = "attribute_not_exists(#cancelAskedAtMs)";

const claimIf = all(unanswered, readable, sameContent, due, free, heldLongerThanEver);
const extendIf = all(unanswered, stillMine, "#heldUntilMs < :heldUntilMs");
const giveBackIf = all(unanswered, stillMine, notCancelled);
const completeIf = all(unanswered, stillMine);
const countReleaseIf = all(unanswered, readable, sameContent, free, laterThanAnyRelease);
const replyUnclaimedIf = isNew;
const replyUnlessRunningIf = all(unanswered, readable, free);
const askCancelIf = all(exists, unanswered, running);

const setProgress = Object.keys(noProgress).map((name) => `#${name} = :${name}`);
const setStage = ["#stage = :stage", "#stageAtMs = :stageAtMs"];

const states = attributes({ queued: "queued", running: "running", ended: "ended" });
const numbers = attributes({ zero: 0, one: 1, format: rowFormat });

/** A stored reply need not come back over the wire to the one who sent it. */
const notTheReplyAgain: ReturnValue = "NONE";

const readTriesMax = 8;
const readPauseMs = 50;

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

  async function reply(jobId: string, condition: string, ask: Omit<CompleteAsk, "progress">): Promise<Completed> {
    const write = set(
      "#reply = :reply",
      "#state = :ended",
      "#ttl = :ttl",
      "#format = if_not_exists(#format, :format)",
      ...setStage,
    );
    return completed(await update(jobId, condition, write, ending(ask), notTheReplyAgain), ask.reply);
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
      return update(ask.jobId, claimIf, write, {
        ...attributes(ask),
        ...states,
        ...numbers,
        ...attributes({ abandonedBeforeMs: ask.nowMs - claimGraceMs, stage: "waiting", stageAtMs: ask.nowMs }),
      });
    },

    async extend(claim, { heldUntilMs, stage }) {
      const write = set("#heldUntilMs = :heldUntilMs", ...setStage, ...setStep(stage));
      const values = { ...states, ...mine(claim), ...attributes({ heldUntilMs, ...stage }) };
      const answer = await update(claim.jobId, extendIf, write, values);
      return answer.kind === "taken" ? { kind: "owned", row: answer.row } : afterExtend(answer.row, claim);
    },

    async giveBack(claim, { notBeforeMs, progress, stage }) {
      const write = set(
        "#state = :queued",
        "#givenBack = if_not_exists(#givenBack, :zero) + :one",
        "#notBeforeMs = :notBeforeMs",
        ...setProgress,
        ...setStage,
        ...setStep(stage),
      );
      const values = { ...states, ...numbers, ...mine(claim), ...progressAttributes(progress) };
      const answer = await update(claim.jobId, giveBackIf, write, {
        ...values,
        ...attributes({ notBeforeMs, ...stage }),
      });
      const { row } = answer;
      const back = answer.kind === "taken" || afterGiveBack(row, claim) === "given-back";
      return back && row !== undefined ? { kind: "owned", row } : { kind: "lost", row };
    },

    async complete(claim, ask) {
      const write = set("#reply = :reply", "#state = :ended", "#ttl = :ttl", ...setStage, ...setProgress);
      const values = { ...states, ...mine(claim), ...ending(ask), ...progressAttributes(ask.progress) };
      return completed(await update(claim.jobId, completeIf, write, values, notTheReplyAgain), ask.reply);
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
      );
      const abandonedBeforeMs = ask.nowMs - claimGraceMs;
      const values = { ...attributes(ask), ...states, ...numbers, ...attributes({ abandonedBeforeMs }) };
      return update(ask.jobId, countReleaseIf, write, values);
    },

    replyUnclaimed: (jobId, ask) => reply(jobId, replyUnclaimedIf, ask),
    replyUnlessRunning: (jobId, ask) => reply(jobId, replyUnlessRunningIf, ask),

    askCancel(jobId, nowMs) {
      const write = set("#cancelAskedAtMs = if_not_exists(#cancelAskedAtMs, :nowMs)");
      return update(jobId, askCancelIf, write, { ...states, ...attributes({ nowMs }) });
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

/** The row as far as it can be read: what is missing counts as never used. */
function rowOf(item: Item): JobRow {
  const count = (name: string) => readNumber(item, name) ?? 0;
  const usage = item["usage"]?.M ?? {};
  const state = readString(item, "state");
  const lane = readString(item, "lane");
  return {
    jobId: readString(item, "jobId") ?? "",
    format: count("format"),
    fence: count("fence"),
    givenBack: count("givenBack"),
    cancelAsked: item["cancelAskedAtMs"] !== undefined,
    ...(state === "queued" || state === "running" || state === "ended" ? { state } : {}),
    ...(isLane(lane) ? { lane } : {}),
    ...present("heldUntilMs", readNumber(item, "heldUntilMs")),
    ...present("notBeforeMs", readNumber(item, "notBeforeMs")),
    ...present("deadlineAtMs", readNumber(item, "deadlineAtMs")),
    ...present("enqueuedAtMs", readNumber(item, "enqueuedAtMs")),
    ...present("startedAtMs", readNumber(item, "startedAtMs")),
    ...present("releasedAtMs", readNumber(item, "releasedAtMs")),
    ...present("stageAtMs", readNumber(item, "stageAtMs")),
    ...present("contentHash", readString(item, "contentHash")),
    ...present("holder", readString(item, "holder")),
    ...present("reply", readString(item, "reply")),
    ...present("stage", readString(item, "stage")),
    ...present("stageBefore", readString(item, "stageBefore")),
    ...present("step", readString(item, "step")),
    ...present("worker", readString(item, "worker")),
    ...progressFrom(count, (name) => readNumber(usage, name) ?? 0),
  };
}

/** The key, if there is a value: an absent attribute is an absent key. */
function present<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  const field: { [P in K]?: V } = {};
  if (value !== undefined) field[key] = value;
  return field;
}

function progressAttributes(progress: Progress): Item {
  const { usage, ...counts } = storable(progress);
  return { ...attributes(counts), usage: { M: attributes(usage) } };
}

function mine({ holder, fence }: Claim): Item {
  return attributes({ holder, fence });
}

function ending({ reply, status, ttlS, nowMs }: Omit<CompleteAsk, "progress">): Item {
  return {
    ...states,
    ...numbers,
    ...attributes({
      reply,
      ttl: Math.ceil(ttlS),
      stage: status,
      stageAtMs: nowMs,
      abandonedBeforeMs: nowMs - claimGraceMs,
    }),
  };
}

function completed(answer: ClaimAnswer, reply: string): Completed {
  const ours = answer.kind === "taken" || afterComplete(answer.row, reply) === "stored";
  return ours ? { kind: "stored" } : { kind: "lost", row: answer.row };
}

/** A stage without a step leaves the last one standing: it tells where the job was. */
function setStep({ step }: StageRow): string[] {
  return step === undefined ? [] : ["#step = :step"];
}

function attributes(facts: object): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]: [string, unknown]) =>
      typeof value === "string" || typeof value === "number" ? [[name, attribute(value)]] : [],
    ),
  );
}

function all(...clauses: readonly string[]): string {
  return clauses.join(" AND ");
}

function set(...assignments: readonly string[]): string {
  return `SET ${assignments.join(", ")}`;
}
