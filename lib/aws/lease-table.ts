import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  GetItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import { entriesOf } from "../core/lease.ts";
import type { Page, PageRef } from "../core/lease.ts";
import type { Toll } from "../core/rate.ts";
import type { LeaseTable, RowWritten, Taken } from "../ports.ts";
import { backWrite, chargeRow, clocksOf, Expressions, settleRow, sum, tollWrite } from "./clock-rows.ts";
import type { Sent, Write } from "./clock-rows.ts";
import {
  boardKeys,
  boardOf,
  breakerKey,
  breakerOf,
  breakerWrite,
  budgetKey,
  headKey,
  headOf,
  headWrite,
  overrideKey,
  overrideWrite,
  pageKey,
  spentOf,
  spentWrite,
} from "./lease-rows.ts";
import { attribute, keysPerReadMax } from "./row.ts";
import type { Item } from "./row.ts";

const readTriesMax = 3;
/** Either way with the row. ALL_NEW costs no more than UPDATED_NEW, and tells how full a page is. */
const answering = { ReturnValues: "ALL_NEW", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

/**
 * The rows are those of `lease-rows`. Every verb on a page is one UpdateItem whose condition begins with
 * `attribute_exists(l)`, so that a missing page is a refusal like any other.
 */
export function createLeaseTable(dynamo: DynamoDBClient, TableName: string): LeaseTable {
  const update = (pk: string, write: Omit<UpdateItemCommandInput, "TableName" | "Key">) =>
    dynamo.send(new UpdateItemCommand({ TableName, Key: { pk: { S: pk } }, ...write }));

  const read = async (pk: string): Promise<Item | undefined> =>
    (await dynamo.send(new GetItemCommand({ TableName, Key: { pk: { S: pk } }, ConsistentRead: true }))).Item;

  /** A refused condition is an answer, with the row that refused: an engine that does not tell it is asked. */
  const send = async (pk: string, write: Write): Promise<Sent> => {
    try {
      return { applied: true, item: (await update(pk, { ...write, ...answering })).Attributes };
    } catch (error) {
      return { applied: false, item: rowThatRefused(error) ?? (await read(pk)) };
    }
  };

  const onPage = async (ref: PageRef, write: Write): Promise<Taken> => {
    const { applied, item } = await send(pageKey(ref), write);
    return applied
      ? { kind: "taken", page: pageOf(item) ?? {}, ...clocksOn(item) }
      : { kind: "refused", page: pageOf(item), ...clocksOn(item) };
  };

  const onHead = (ledger: string) => (write: Write) => send(headKey(ledger), write);

  /** A write on what was seen. */
  const rewrite = async <Row>(
    pk: string,
    write: Write,
    rowOf: (item: Item | undefined) => Row | undefined,
  ): Promise<RowWritten<Row>> => {
    const { applied, item } = await send(pk, write);
    return applied ? { kind: "written" } : { kind: "refused", stands: rowOf(item) };
  };

  return {
    take: (ref, ids, cap, untilMs, toll) => {
      const ours = named("a", ids);
      const paid = tolled(toll, ours);
      const mine = ours.paths.map((path) => `attribute_exists(${path})`).join(" AND ");
      const room = toll === undefined ? `(size(l) <= :room OR (${mine}))` : "size(l) <= :room";
      return onPage(ref, {
        UpdateExpression: `SET ${[...setIfAbsent(ours), ...paid.sets].join(", ")}`,
        ConditionExpression: ["attribute_exists(l)", room, ...paid.asks].join(" AND "),
        ExpressionAttributeNames: { ...ours.names, ...paid.names },
        // Conditions have no arithmetic, so the room is a literal.
        ExpressionAttributeValues: {
          ...paid.values,
          ":until": attribute(untilMs),
          ":room": attribute(cap - ids.length),
        },
      });
    },

    createPage: async (ref) => {
      await update(pageKey(ref), {
        UpdateExpression: "SET l = if_not_exists(l, :empty)",
        ExpressionAttributeValues: { ":empty": { M: {} } },
      });
    },

    reclaim: (ref, expired, ids, cap, untilMs, toll) => {
      const ours = named("a", ids);
      const paid = tolled(toll, ours);
      const theirs = named("x", Object.keys(expired));
      const seen = Object.fromEntries(Object.values(expired).map((atMs, index) => [`:x${index}`, attribute(atMs)]));
      const asSeen = theirs.paths.map((path, index) => `${path} = :x${index}`);
      return onPage(ref, {
        UpdateExpression: `SET ${[...setIfAbsent(ours), ...paid.sets].join(", ")} REMOVE ${theirs.paths.join(", ")}`,
        ConditionExpression: ["attribute_exists(l)", ...asSeen, "size(l) <= :room", ...paid.asks].join(" AND "),
        ExpressionAttributeNames: { ...ours.names, ...theirs.names, ...paid.names },
        ExpressionAttributeValues: {
          ...seen,
          ...paid.values,
          ":until": attribute(untilMs),
          ":room": attribute(cap - ids.length + theirs.paths.length),
        },
      });
    },

    renew: (ref, ids, untilMs) => {
      const ours = named("a", ids);
      return onPage(ref, {
        UpdateExpression: `SET ${ours.paths.map((path) => `${path} = :until`).join(", ")}`,
        // A comparison with what does not exist is false: only leases that are there, and only ever later.
        ConditionExpression: `attribute_exists(l) AND ${ours.paths.map((path) => `${path} <= :until`).join(" AND ")}`,
        ExpressionAttributeNames: ours.names,
        ExpressionAttributeValues: { ":until": attribute(untilMs) },
      });
    },

    giveBack: async (ref, ids, backMs = {}) => {
      const pk = pageKey(ref);
      for (let left = ids; left.length > 0;) {
        const write = returnWrite(left, backMs);
        try {
          return clocksOf((await update(pk, { ...write, ...answering })).Attributes);
        } catch (error) {
          // Where nothing is to be set back, only a missing page refuses. Whichever is gone was returned before, or taken
          // away: it sets nothing back.
          const row = rowThatRefused(error) ?? (write.ExpressionAttributeValues && (await read(pk)));
          left = Object.keys(entriesOf(pageOf(row) ?? {}, left));
        }
      }
      return undefined;
    },

    readBoard: async (names) => {
      const keys = boardKeys(names).map((pk) => ({ pk: { S: pk } }));
      const chunks = Array.from({ length: Math.ceil(keys.length / keysPerReadMax) }, (_, chunk) =>
        readAll(keys.slice(chunk * keysPerReadMax, (chunk + 1) * keysPerReadMax), names.consistent),
      );
      return boardOf((await Promise.all(chunks)).flat());
    },

    writeHead: (ledger, seen, next) => rewrite(headKey(ledger), headWrite(seen, next), (row) => row && headOf(row)),
    writeBreaker: (target, seen, next) => rewrite(breakerKey(target), breakerWrite(seen, next), breakerOf),

    addSpent: async (of, addition, ttlS) => spentOf((await send(budgetKey(of), spentWrite(addition, ttlS))).item),

    setOverride: async (override) => {
      await update(overrideKey(override), overrideWrite(override));
    },

    charge: (ledger, charge, quota, nowMs, seen) => chargeRow(onHead(ledger), charge, quota, nowMs, seen),
    settle: (ledger, unused, quota, nowMs, seen) => settleRow(onHead(ledger), unused, quota, nowMs, seen),

    readClocks: async (ledger) => {
      const keys = [headKey(ledger), pageKey({ ledger, page: 0 })];
      const [head, page] = await Promise.all(keys.map(read));
      return { ...clocksOf(head), ...clocksOf(page) };
    },

    readPage: async (ref) => pageOf(await read(pageKey(ref))),
  };

  /** Mostly without consistency, at half the price: they may be a second old anyway, and every write of a worker compares. */
  async function readAll(Keys: Item[], consistent?: true): Promise<Item[]> {
    const how = consistent ? { ConsistentRead: true } : {};
    const items: Item[] = [];
    let left = Keys;
    for (let tries = 1; left.length > 0; tries++) {
      if (tries > readTriesMax) throw new Error("DynamoDB left keys of a batch unprocessed");
      const answer = await dynamo.send(
        new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: left, ...how } } }),
      );
      items.push(...(answer.Responses?.[TableName] ?? []));
      left = answer.UnprocessedKeys?.[TableName]?.Keys ?? [];
    }
    return items;
  }
}

/** The row of a refused condition, as far as the engine tells it; whatever else went wrong is thrown on. */
function rowThatRefused(error: unknown): Item | undefined {
  if (error instanceof ConditionalCheckFailedException) return error.Item;
  // A path through a map that is not there is invalid; should DynamoDB say so before it looks at the condition, it
  // means the same.
  if (error instanceof Error && error.name === "ValidationException" && error.message.includes("document path"))
    return undefined;
  throw error;
}

/** Lease ids begin with anything, so that every path goes through a name. */
function named(prefix: string, ids: readonly string[]) {
  return {
    paths: ids.map((_id, index) => `l.#${prefix}${index}`),
    names: Object.fromEntries(ids.map((id, index) => [`#${prefix}${index}`, id])),
  };
}

type Named = ReturnType<typeof named>;

function setIfAbsent({ paths }: Named): string[] {
  return paths.map((path) => `${path} = if_not_exists(${path}, :until)`);
}

/** What a take has to add for its toll. An id that is on the page has paid: it marks the charge. */
function tolled(toll: Toll | undefined, { paths }: Named): Expressions {
  if (toll === undefined) return new Expressions();
  const write = tollWrite(toll);
  write.asks.push(...paths.map((path) => `attribute_not_exists(${path})`));
  return write;
}

/** Whoever gives something back does so with its lease, or not at all. */
function returnWrite(ids: readonly string[], backMs: Readonly<Record<string, number>>) {
  const ours = named("a", ids);
  const remove = `REMOVE ${ours.paths.join(", ")}`;
  const giving = ids.flatMap((id, index) =>
    Object.hasOwn(backMs, id) ? [`attribute_exists(${ours.paths[index]})`] : [],
  );
  if (giving.length === 0) {
    return {
      UpdateExpression: remove,
      ConditionExpression: "attribute_exists(l)",
      ExpressionAttributeNames: ours.names,
    };
  }
  const back = backWrite(sum(Object.values(entriesOf(backMs, ids))));
  return {
    UpdateExpression: `SET ${back.sets.join(", ")} ${remove}`,
    ConditionExpression: ["attribute_exists(l)", ...giving].join(" AND "),
    ExpressionAttributeNames: { ...ours.names, ...back.names },
    ExpressionAttributeValues: back.values,
  };
}

function clocksOn(item: Item | undefined): Pick<Taken, "clocks"> {
  const clocks = clocksOf(item);
  return Object.keys(clocks).length === 0 ? {} : { clocks };
}

/** A row without the map is no page yet. */
function pageOf(item: Item | undefined): Page | undefined {
  const leases = item?.["l"]?.M;
  return leases && Object.fromEntries(Object.entries(leases).map(([id, expiry]) => [id, Number(expiry.N)]));
}
