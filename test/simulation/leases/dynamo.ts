import type { Page, PageRef } from "../../../lib/core/lease.ts";
import { createMemoryLeaseTable } from "../../../lib/memory/lease-table.ts";
import type { Clock, LeaseTable } from "../../../lib/ports.ts";
import { lognormal } from "./dice.ts";

const roundTripMs = 3.6;
const roundTripSigma = 0.5;
/** What one key takes; DynamoDB lets no key borrow more than a moment's worth. */
const unitsPerS = 1_000;
const unitBytes = 1_024;
/** As the worker's client is set: three attempts, a second each. */
const attemptsMax = 3;
const attemptMsMax = 1_000;
const resendMsBase = 50;
const latestCopyMs = 60_000;

/** How often, of a request's attempts: 0–1. */
export interface Faults {
  readonly requestLost: number;
  readonly answerLost: number;
  /** Carried out once more, up to a minute later. */
  readonly repeated: number;
}

export const noFaults: Faults = { requestLost: 0, answerLost: 0, repeated: 0 };

/** A request: what it does, and the write units that it costs at its keys. Reads of heads cost none. */
export interface Request {
  readonly verb: string;
  readonly keys: readonly string[];
  readonly units: number;
}

interface KeyMeter {
  tokens: number;
  atMs: number;
  second: number;
  unitsThisSecond: number;
}

/** What was asked of DynamoDB since the last bill, refused and throttled requests included. */
export interface Bill {
  readonly requests: ReadonlyMap<string, number>;
  readonly units: number;
  readonly throttled: number;
  /** The most write units that one key was asked for within one second. */
  readonly unitsPerSMost: number;
}

const noBill: Bill = { requests: new Map(), units: 0, throttled: 0, unitsPerSMost: 0 };

/** DynamoDB's service: what each key takes in a second, and the bill. */
export class Service {
  readonly clock: Clock;
  readonly #keys = new Map<string, KeyMeter>();
  #bill = { ...noBill, requests: new Map<string, number>() };

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Counts the request; false: a key has no room for it. */
  admit({ verb, keys, units }: Request): boolean {
    const bill = this.#bill;
    bill.requests.set(verb, (bill.requests.get(verb) ?? 0) + 1);
    bill.units += units * keys.length;
    const isAdmitted = keys.map((key) => this.#spend(key, units)).every(Boolean);
    if (!isAdmitted) bill.throttled += 1;
    return isAdmitted;
  }

  /** Presents the bill, and begins another. */
  settle(): Bill {
    const bill = this.#bill;
    this.#bill = { ...noBill, requests: new Map() };
    return bill;
  }

  #spend(key: string, units: number): boolean {
    const nowMs = this.clock.nowMs();
    const meter = this.#keys.get(key) ?? { tokens: unitsPerS, atMs: nowMs, second: 0, unitsThisSecond: 0 };
    this.#keys.set(key, meter);

    const second = Math.floor(nowMs / 1_000);
    if (second !== meter.second) [meter.second, meter.unitsThisSecond] = [second, 0];
    meter.unitsThisSecond += units;
    this.#bill.unitsPerSMost = Math.max(this.#bill.unitsPerSMost, meter.unitsThisSecond);

    meter.tokens = Math.min(unitsPerS, meter.tokens + ((nowMs - meter.atMs) * unitsPerS) / 1_000);
    meter.atMs = nowMs;
    if (meter.tokens < units) return false;
    meter.tokens -= units;
    return true;
  }
}

/** One worker's client: it resends what was lost or throttled, and what was lost may have been carried out. */
export class Client {
  readonly #service: Service;
  readonly #clock: Clock;
  readonly #dice: () => number;
  readonly #faults: Faults;

  /** `clock` is the worker's own: on a dead worker's nothing comes back. */
  constructor(service: Service, clock: Clock, dice: () => number, faults: Faults = noFaults) {
    this.#service = service;
    this.#clock = clock;
    this.#dice = dice;
    this.#faults = faults;
  }

  async send<Answer>(request: Request, carryOut: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(request, carryOut);
      } catch (error) {
        if (attempt >= attemptsMax || (error instanceof Error && error.name === "TransactionCanceledException"))
          throw error;
        await this.#clock.sleep(this.#dice() * resendMsBase * 2 ** attempt);
      }
    }
  }

  async #once<Answer>(request: Request, carryOut: () => Promise<Answer>): Promise<Answer> {
    const { clock } = this.#service;
    const tripMs = lognormal(this.#dice, roundTripMs, roundTripSigma) / 2;
    const fate = this.#dice();
    const { requestLost, answerLost, repeated } = this.#faults;
    if (fate < requestLost) {
      await this.#clock.sleep(attemptMsMax);
      throw named("TimeoutError");
    }

    // What is on its way arrives, whatever becomes of its sender.
    await clock.sleep(tripMs);
    if (!this.#service.admit(request)) {
      await this.#clock.sleep(tripMs);
      throw named("ThrottlingException");
    }
    const answer = await carryOut();
    if (fate > 1 - repeated) clock.after(this.#dice() * latestCopyMs, () => void carryOut());
    if (fate < requestLost + answerLost) {
      await this.#clock.sleep(attemptMsMax - tripMs);
      throw named("TimeoutError");
    }
    await this.#clock.sleep(tripMs);
    return answer;
  }
}

/** The lease table behind such a client. `rows` is the table itself, which all workers share. */
export function leaseTableOver(client: Client, rows: LeaseTable): LeaseTable {
  const onPage = <Answer>(verb: string, ref: PageRef, carryOut: () => Promise<Answer>) =>
    client.send({ verb, keys: [`L#${ref.ledger}#${ref.page}`], units: 1 }, carryOut);
  return {
    take: (ref, ...ask) => onPage("take", ref, () => rows.take(ref, ...ask)),
    createPage: (ref) => onPage("createPage", ref, () => rows.createPage(ref)),
    reclaim: (ref, ...ask) => onPage("reclaim", ref, () => rows.reclaim(ref, ...ask)),
    renew: (ref, ids, untilMs) => onPage("renew", ref, () => rows.renew(ref, ids, untilMs)),
    giveBack: (ref, ...ask) => onPage("giveBack", ref, () => rows.giveBack(ref, ...ask)),
    writeHead: (ledger, seen, next) =>
      client.send({ verb: "writeHead", keys: [`H#${ledger}`], units: 1 }, () => rows.writeHead(ledger, seen, next)),
    readBoard: (names) => client.send({ verb: "readBoard", keys: [], units: 0 }, () => rows.readBoard(names)),
    writeBreaker: (target, seen, next) =>
      client.send({ verb: "writeBreaker", keys: [`B#${target}`], units: 1 }, () =>
        rows.writeBreaker(target, seen, next),
      ),
    addSpent: (...ask) => rows.addSpent(...ask),
    setOverride: (ask) => rows.setOverride(ask),
    charge: (ledger, ...ask) =>
      client.send({ verb: "charge", keys: [`H#${ledger}`], units: 1 }, () => rows.charge(ledger, ...ask)),
    settle: (ledger, ...ask) =>
      client.send({ verb: "settle", keys: [`H#${ledger}`], units: 1 }, () => rows.settle(ledger, ...ask)),
    readClocks: (ledger) => rows.readClocks(ledger),
    readPage: (ref) => rows.readPage(ref),
  };
}

/** The rows of all workers; a page that would not fit the one unit that its writes are billed is a bug of ours. */
export function createRows(): LeaseTable {
  const rows = createMemoryLeaseTable();
  return {
    ...rows,
    take: async (...ask) => {
      const taken = await rows.take(...ask);
      if (bytesOf(taken.page ?? {}) > unitBytes) throw new Error("a page costs more than one unit");
      return taken;
    },
  };
}

/** By DynamoDB's rules: names and values, a number two digits a byte, and what a map costs. */
function bytesOf(page: Page): number {
  const [keyBytes, mapBytes, entryBytes, numberBytes] = [64, 4, 1, 8];
  return keyBytes + mapBytes + Object.keys(page).reduce((sum, id) => sum + id.length + entryBytes + numberBytes, 0);
}

export function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}
