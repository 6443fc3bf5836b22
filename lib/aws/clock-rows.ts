import type { AttributeValue, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import { burstMs, charge, costMs, marksMax, settle } from "../core/rate.ts";
import type { Charge, Charged, Clocks, Marks, Quota, Toll } from "../core/rate.ts";
import { attribute, readNumber } from "./row.ts";
import type { Item } from "./row.ts";

/** Each refusal brings the row that the next write fits; only a clock that crosses the present meanwhile refuses again. */
const writesMax = 5;

export type Write = Pick<
  UpdateItemCommandInput,
  "UpdateExpression" | "ConditionExpression" | "ExpressionAttributeNames" | "ExpressionAttributeValues"
>;
/** The row after the write, or the row that refused. */
export interface Sent {
  readonly applied: boolean;
  readonly item: Item | undefined;
}

type Send = (write: Write) => Promise<Sent>;

/**
 * A clock moves by a relative write while it is ahead, so that any number of workers move it at the same time, and by an
 * absolute one when it stands in the past; each asks that the clock still is where its branch begins. What the core says
 * of the row decides which one is sent, and whether any is.
 */
export async function chargeRow(
  send: Send,
  ask: Charge,
  quota: Quota,
  nowMs: number,
  known?: Clocks,
): Promise<Charged> {
  // What was known says how to write, never that one must wait: others may have given back since.
  let seen = charge(known, ask, quota, nowMs).kind === "wait" ? undefined : known;
  let decided = charge(seen, ask, quota, nowMs);
  for (let writes = 0; writes < writesMax; writes += 1) {
    if (decided.kind !== "charged") return decided;
    const { applied, item } = await send(chargeWrite(seen, decided.clocks, ask, quota, nowMs));
    seen = clocksOf(item);
    if (applied) return { kind: "charged", clocks: seen };
    decided = charge(seen, ask, quota, nowMs);
  }
  throw new Error("the clocks of a quota changed with every write");
}

/** Only ever relative: by then, others have moved the clock on. */
export async function settleRow(
  send: Send,
  unused: Charge,
  quota: Quota,
  nowMs: number,
  known: Clocks = { tokensAtMs: nowMs },
): Promise<Clocks> {
  let seen = known;
  for (let writes = 0; writes < writesMax; writes += 1) {
    const settled = settle(seen, unused, quota, nowMs);
    if (settled === undefined) return seen;
    const { applied, item } = await send(settleWrite(seen, settled, unused, quota));
    seen = clocksOf(item);
    if (applied) return seen;
  }
  throw new Error("the clocks of a quota changed with every write");
}

const clockNames = { tokensAtMs: "tokensAt", requestsAtMs: "requestsAt" } as const;

/** The part of a write that moves the clocks for all of these attempts, if they admit the last one after the others. */
export function tollWrite({ quota, tokens, nowMs, seen }: Toll): Expressions {
  const write = new Expressions();
  const costs = [
    ["tokensAtMs", tokens, quota.tokensPerMinute],
    ["requestsAtMs", tokens.map(() => 1), quota.requestsPerMinute],
  ] as const;
  for (const [clock, amounts, perMinute] of costs) {
    if (perMinute === undefined) continue;
    const [fromMs = -Infinity, name] = [seen?.[clock], `#${clock}`];
    const allMs = costMs(sum(amounts), perMinute);
    write.names[name] = clockNames[clock];
    write.values[":now"] = attribute(nowMs);
    if (fromMs >= nowMs) {
      write.set(name, `${name} + :${clock}`, attribute(allMs), `:${clock}`);
      write.values[`:${clock}Max`] = attribute(nowMs + burstMs - costMs(sum(amounts.slice(0, -1)), perMinute));
      write.asks.push(`${name} >= :now AND ${name} < :${clock}Max`);
    } else {
      write.set(name, `:${clock}`, attribute(nowMs + allMs), `:${clock}`);
      write.asks.push(`(attribute_not_exists(${name}) OR ${name} < :now)`);
    }
  }
  return write;
}

/** The part of a write that sets the clock of tokens back. */
export function backWrite(backMs: number): Expressions {
  const write = new Expressions();
  write.names["#tokensAt"] = clockNames.tokensAtMs;
  write.set("#tokensAt", "#tokensAt - :back", attribute(backMs), ":back");
  write.asks.push("attribute_exists(#tokensAt)");
  return write;
}

function chargeWrite(seen: Clocks | undefined, next: Clocks, { id, tokens }: Charge, quota: Quota, nowMs: number) {
  const write = tollWrite({ quota, tokens: [tokens], nowMs, seen });
  write.mark("charged", seen?.charged, next.charged ?? {}, id);
  return write.write();
}

function settleWrite(seen: Clocks, next: Clocks, { id, tokens }: Charge, { tokensPerMinute = Infinity }: Quota) {
  const write = backWrite(costMs(tokens, tokensPerMinute));
  write.mark("settled", seen.settled, next.settled ?? {}, id);
  return write.write();
}

export class Expressions {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, AttributeValue> = {};
  readonly asks: string[] = [];
  readonly sets: string[] = [];
  readonly #removes: string[] = [];

  set(name: string, to: string, value: AttributeValue, placeholder: string): void {
    this.sets.push(`${name} = ${to}`);
    this.values[placeholder] = value;
  }

  /** The attempt's mark, which lets this write happen once; those that are too old go with it. */
  mark(map: "charged" | "settled", seen: Marks | undefined, next: Marks, id: string): void {
    this.names["#marks"] = map;
    if (seen === undefined) {
      this.set("#marks", ":marks", { M: { [id]: attribute(next[id] ?? 0) } }, ":marks");
      this.asks.push("attribute_not_exists(#marks)");
      return;
    }
    this.names["#id"] = id;
    this.set("#marks.#id", ":mark", attribute(next[id] ?? 0), ":mark");
    this.asks.push("attribute_exists(#marks)", "attribute_not_exists(#marks.#id)");
    const old = Object.keys(seen).filter((each) => !Object.hasOwn(next, each));
    for (const [place, each] of old.entries()) {
      this.names[`#old${place}`] = each;
      this.#removes.push(`#marks.#old${place}`);
    }
    // Whoever last knew the marks when its attempt began takes none away that is still there, and hundreds of them would
    // fill the row beyond what one expression can clear. On a row that is full, one goes for each that comes.
    this.values[":full"] = attribute(2 * marksMax);
    const oneGoes = old.length === 0 ? "" : " OR attribute_exists(#marks.#old0)";
    this.asks.push(`(size(#marks) < :full${oneGoes})`);
  }

  write(): Write {
    return {
      UpdateExpression: `SET ${this.sets.join(", ")}${this.#removes.length === 0 ? "" : ` REMOVE ${this.#removes.join(", ")}`}`,
      ConditionExpression: this.asks.join(" AND "),
      ExpressionAttributeNames: this.names,
      ExpressionAttributeValues: this.values,
    };
  }
}

export function clocksOf(item: Item | undefined): Clocks {
  if (item === undefined) return {};
  const tokensAtMs = readNumber(item, clockNames.tokensAtMs);
  const requestsAtMs = readNumber(item, clockNames.requestsAtMs);
  const [charged, settled] = [marksOf(item["charged"]), marksOf(item["settled"])];
  return {
    ...(tokensAtMs === undefined ? {} : { tokensAtMs }),
    ...(requestsAtMs === undefined ? {} : { requestsAtMs }),
    ...(charged === undefined ? {} : { charged }),
    ...(settled === undefined ? {} : { settled }),
  };
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

function marksOf(value: AttributeValue | undefined): Marks | undefined {
  return value?.M && Object.fromEntries(Object.entries(value.M).map(([id, at]) => [id, Number(at.N)]));
}
