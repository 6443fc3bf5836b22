import type { AttributeValue, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import type { Breaker } from "../core/breaker.ts";
import { budgetName, markOf } from "../core/budget.ts";
import type { Addition, BudgetDay } from "../core/budget.ts";
import type { Json } from "../core/json.ts";
import { isLane } from "../core/lane.ts";
import { headFields } from "../core/lease.ts";
import type { Head, PageRef } from "../core/lease.ts";
import type { OverrideAsk } from "../core/override.ts";
import type { BoardNames, BoardRows } from "../ports.ts";
import { attribute, readNumber, readString } from "./row.ts";
import type { Item } from "./row.ts";

/*
 * `L#<ledger>#<page>`: a page, the map `l` of lease id → expiry. `H#<ledger>`: the head. The clocks of a quota (`clock-rows`)
 * lie on the only page, or on the head of several. `B#<target>`: the breaker. What an operator has set lies in the map
 * `override`: of a ledger on its head, else on `LANE#<lane>` and `MODEL#<model>`. `BUDGET#<lane>#<day>`: what a lane has spent.
 */
const boardPrefixes = { ledger: "H#", target: "B#", lane: "LANE#", model: "MODEL#", budget: "BUDGET#" } as const;

export function pageKey({ ledger, page }: PageRef): string {
  return `L#${ledger}#${page}`;
}

export function headKey(ledger: string): string {
  return boardPrefixes.ledger + ledger;
}

export function breakerKey(target: string): string {
  return boardPrefixes.target + target;
}

export function budgetKey(of: BudgetDay): string {
  return boardPrefixes.budget + budgetName(of);
}

export function overrideKey({ kind, name }: OverrideAsk): string {
  return boardPrefixes[kind] + name;
}

/** No key comes twice, for DynamoDB refuses that. */
export function boardKeys({ ledgers, targets, lanes, models, budgets = [] }: BoardNames): string[] {
  return [
    ...new Set([
      ...ledgers.map(headKey),
      ...targets.map(breakerKey),
      ...lanes.map((lane) => boardPrefixes.lane + lane),
      ...models.map((model) => boardPrefixes.model + model),
      ...budgets.map(budgetKey),
    ]),
  ];
}

export function boardOf(items: readonly Item[]): BoardRows {
  const rows = items.map((item) => {
    const [, prefix = "", name = ""] = /^(.*?#)(.*)$/s.exec(readString(item, "pk") ?? "") ?? [];
    return { prefix, name, item, override: item["override"] && jsonOf(item["override"]) };
  });
  const overridesOf = (kind: OverrideAsk["kind"]) =>
    rows.flatMap(({ prefix, name, override }) =>
      prefix === boardPrefixes[kind] && override !== undefined ? [[name, override] as const] : [],
    );
  const of = (kind: keyof typeof boardPrefixes) => rows.filter(({ prefix }) => prefix === boardPrefixes[kind]);
  return {
    heads: new Map(of("ledger").map(({ name, item }) => [name, headOf(item)])),
    breakers: new Map(
      of("target").flatMap(({ name, item }) => {
        const breaker = breakerOf(item);
        return breaker === undefined ? [] : [[name, breaker] as const];
      }),
    ),
    overrides: {
      ledgers: new Map(overridesOf("ledger")),
      lanes: new Map(
        overridesOf("lane").flatMap(([name, override]) => (isLane(name) ? [[name, override] as const] : [])),
      ),
      models: new Map(overridesOf("model")),
    },
    spent: new Map(
      of("budget").map(({ name, item }) => [name, item[spentNanoUsd] ? jsonOf(item[spentNanoUsd]) : null]),
    ),
  };
}

const spentNanoUsd = "spentNanoUsd";

export function spentOf(item: Item | undefined): number {
  const sum = readNumber(item ?? {}, spentNanoUsd);
  if (sum === undefined) throw new Error("DynamoDB has not answered what was spent");
  return sum;
}

/** Refused where the container's slot shows that it was counted. */
export function spentWrite(addition: Addition, ttlS: number) {
  const { slot, begins, mark } = markOf(addition);
  return {
    UpdateExpression: "ADD #spent :nanoUsd SET #ttl = :ttl, #slot = :mark",
    ConditionExpression: "attribute_not_exists(#slot) OR NOT begins_with(#slot, :begins) OR #slot < :mark",
    ExpressionAttributeNames: { "#spent": spentNanoUsd, "#ttl": "ttl", "#slot": slot },
    ExpressionAttributeValues: {
      ":nanoUsd": attribute(addition.nanoUsd),
      ":ttl": attribute(ttlS),
      ":begins": attribute(begins),
      ":mark": attribute(mark),
    },
  } satisfies Partial<UpdateItemCommandInput>;
}

const headAttributes: Readonly<Record<keyof Head, string>> = {
  lim: "lim",
  cutAtMs: "cutAt",
  cutFrom: "cutFrom",
  raisedAtMs: "raisedAt",
  pausedUntilMs: "pausedUntil",
};

export function headOf(item: Item): Head {
  return Object.fromEntries(
    headFields.flatMap((field) => {
      const value = readNumber(item, headAttributes[field]);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

export function headWrite(seen: Head | undefined, next: Head) {
  return rewrite(Object.values(headAttributes), headItem(seen), headItem(next));
}

function headItem(head: Head = {}): Item {
  return Object.fromEntries(
    headFields.flatMap((field) => {
      const value = head[field];
      return value === undefined ? [] : [[headAttributes[field], attribute(value)]];
    }),
  );
}

const breakerAttributes = ["state", "failures", "openUntil", "probe", "probeUntil"] as const;

/** What cannot be read is as good as closed: nobody is kept from a target by a damaged row. */
export function breakerOf(item: Item | undefined): Breaker | undefined {
  if (item === undefined) return undefined;
  const [failures, openUntilMs] = [readNumber(item, "failures"), readNumber(item, "openUntil")];
  const [id, expiresAtMs] = [readString(item, "probe"), readNumber(item, "probeUntil")];
  const state = readString(item, "state");
  if (state === "closed" && failures !== undefined) return { kind: "closed", failures };
  if (state === "open" && openUntilMs !== undefined) return { kind: "open", openUntilMs };
  if (state !== "half-open") return undefined;
  const probe = id !== undefined && expiresAtMs !== undefined ? { probe: { id, expiresAtMs } } : {};
  return { kind: "half-open", ...probe };
}

export function breakerWrite(seen: Breaker | undefined, next: Breaker) {
  return rewrite(breakerAttributes, breakerItem(seen), breakerItem(next));
}

/** Closed without a failure is what a target is without a row, and is written as nothing. */
function breakerItem(breaker: Breaker = { kind: "closed", failures: 0 }): Item {
  const state = attribute(breaker.kind);
  switch (breaker.kind) {
    case "closed":
      return breaker.failures === 0 ? {} : { state, failures: attribute(breaker.failures) };
    case "open":
      return { state, openUntil: attribute(breaker.openUntilMs) };
    case "half-open": {
      const { probe } = breaker;
      return probe === undefined
        ? { state }
        : { state, probe: attribute(probe.id), probeUntil: attribute(probe.expiresAtMs) };
    }
  }
}

/** One UpdateItem that makes `seen` into `next` where it still is as seen, and touches no attribute but these. */
function rewrite(names: readonly string[], seen: Item, next: Item) {
  const [asSeen, sets, removes]: [string[], string[], string[]] = [[], [], []];
  const values: Record<string, AttributeValue> = {};
  for (const name of names) {
    const [was, will] = [seen[name], next[name]];
    asSeen.push(was === undefined ? `attribute_not_exists(#${name})` : `#${name} = :was_${name}`);
    if (was !== undefined) values[`:was_${name}`] = was;
    if (will === undefined) removes.push(`#${name}`);
    else {
      sets.push(`#${name} = :will_${name}`);
      values[`:will_${name}`] = will;
    }
  }
  return {
    UpdateExpression: [clause("SET", sets), clause("REMOVE", removes)].join(" ").trim(),
    ConditionExpression: asSeen.join(" AND "),
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
  } satisfies Partial<UpdateItemCommandInput>;
}

function clause(word: string, parts: readonly string[]): string {
  return parts.length === 0 ? "" : `${word} ${parts.join(", ")}`;
}

export function overrideWrite({ override }: OverrideAsk) {
  const ExpressionAttributeNames = { "#override": "override" };
  return override === undefined
    ? { UpdateExpression: "REMOVE #override", ExpressionAttributeNames }
    : {
        UpdateExpression: "SET #override = :override",
        ExpressionAttributeNames,
        ExpressionAttributeValues: { ":override": mapOf(override) },
      };
}

function mapOf(override: NonNullable<OverrideAsk["override"]>): AttributeValue {
  const fields: [name: string, value: number | boolean | readonly string[] | undefined][] = Object.entries(override);
  return {
    M: Object.fromEntries(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, attributeOf(value)]]))),
  };
}

function attributeOf(value: number | boolean | readonly string[]): AttributeValue {
  return typeof value === "object" ? { L: value.map(attribute) } : attribute(value);
}

/** A value that somebody has written by hand, as JSON; what JSON has no word for (bytes) is null. */
function jsonOf({ S, N, BOOL, L, M, SS, NS }: AttributeValue): Json {
  if (M !== undefined) return Object.fromEntries(Object.entries(M).map(([name, value]) => [name, jsonOf(value)]));
  if (L !== undefined) return L.map(jsonOf);
  if (N !== undefined) return Number(N);
  return S ?? BOOL ?? SS ?? NS?.map(Number) ?? null;
}
