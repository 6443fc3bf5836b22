import { describe, expect, test } from "vitest";
import type { Wanted } from "../../lib/core/ledgers.ts";
import type { NoLease } from "../../lib/core/lease.ts";
import type { Quota } from "../../lib/core/rate.ts";
import type { TakenLease } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { fullestMinute, insist } from "./a-demand.ts";
import { someDesks, wireMs } from "./a-desk.ts";

const target = "fast-text@us-west-2";
const group = "group:nova";
const ledgers = [target, group];
/** A token is 11 ms of its clock, a request 110. */
const quota: Quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 };

const wanted = (tokens: number, of: Quota = quota): Wanted => ({
  target,
  asks: ledgers.map((ledger) => ({ ledger, lane: "rt", share: 1, limitStart: 30, limitMax: 30 })),
  charge: { tokens, quota: of },
});
const untilMs = (refused: TakenLease | NoLease) => (refused.kind === "tokens" ? refused.untilMs : refused.kind);

describe("the quota of a minute", () => {
  test("is charged once every lease is held, and settled with their return", async () => {
    const { desk, hold, over, said, table } = someDesks(ledgers);
    const taken = await hold(wanted(100));
    expect(said()).toEqual([`take ${target}`, `take ${group}`, "charge"]);
    const { tokensAtMs = 0 } = await table.readClocks(target);
    await over(desk.giveBack(taken, { kind: "neutral" }, 60));
    expect(said().slice(3).toSorted()).toEqual([`giveBack ${target}`, `giveBack ${group}`, "settle"]);
    expect((await table.readClocks(target)).tokensAtMs).toBe(tokensAtMs - 660);
  });

  test("needs no settlement where all of it was used, or only requests are counted", async () => {
    const { desk, hold, over, said } = someDesks(ledgers);
    await over(desk.giveBack(await hold(wanted(100)), { kind: "neutral" }, 0));
    await over(desk.giveBack(await hold(wanted(0, { requestsPerMinute: 600 })), { kind: "neutral" }, 60));
    expect(said()).not.toContain("settle");
  });

  test("lets a big prompt go into debt, and the others wait exactly until it is paid", async () => {
    const { take, newDesk, over, clock, out } = someDesks(ledgers);
    const other = newDesk();
    expect((await over(take(wanted(6_000)))).kind).toBe("taken");
    const chargedAtMs = clock.nowMs() - 2 * wireMs;
    const readyAtMs = chargedAtMs + 66_000 - 5_000 + 1;

    const until = { waitMs: 0, signal: new AbortController().signal };
    expect(untilMs(await over(other.take(wanted(1), until)))).toBe(readyAtMs);
    expect(await out()).toEqual([1, 1]); // the big one's alone
    await clock.advance(readyAtMs - clock.nowMs() - 3 * 2 * wireMs);
    expect(untilMs(await over(other.take(wanted(1), until)))).toBe(readyAtMs);
    await clock.advance(readyAtMs - clock.nowMs());
    expect((await over(other.take(wanted(1), until))).kind).toBe("taken");
  });

  test("admits others as soon as what was set aside in vain comes back", async () => {
    const { desk, hold, newDesk, over, clock } = someDesks(ledgers);
    const other = newDesk();
    const until = { waitMs: 0, signal: new AbortController().signal };
    const big = await hold(wanted(6_000));
    expect((await over(other.take(wanted(100), until))).kind).toBe("tokens");
    await over(desk.giveBack(big, { kind: "neutral" }, 5_900));
    await clock.advance(1_000);
    expect((await over(other.take(wanted(100), until))).kind).toBe("taken");
  });

  test("answers a prompt above all of it at once, without a request", async () => {
    const { take, over, said, clock, noted } = someDesks(ledgers);
    expect(await over(take(wanted(6_001)))).toEqual({ kind: "above-quota", tokensMax: 6_000 });
    expect([said(), clock.nowMs()]).toEqual([[], t0]);
    expect(noted).toMatchObject([{ kind: "lease-refused", reason: "above-quota" }]);
  });

  test("that refused one spares the others of its container the same question, for a second or until it is over", async () => {
    const { take, over, said, clock, sent } = someDesks(ledgers);
    await over(take(wanted(6_000)));
    const first = await over(take(wanted(1)));
    sent.length = 0;
    expect(await over(take(wanted(1)))).toEqual(first);
    expect(said()).toEqual([]);
    await clock.advance(1_000);
    expect(await over(take(wanted(1)))).toEqual(first);
    expect(said()).toContain("charge");
  });

  test("is not thought spent once this container has given back", async () => {
    const { desk, take, hold, over } = someDesks(ledgers);
    const big = await hold(wanted(6_000));
    expect((await over(take(wanted(1)))).kind).toBe("tokens");
    await over(desk.giveBack(big, { kind: "neutral" }, 6_000));
    expect((await over(take(wanted(1)))).kind).toBe("taken");
  });

  test("is charged once though the answer is lost, and settled once", async () => {
    const { desk, hold, over, faults, table } = someDesks(ledgers);
    faults.charge = ["answer lost"];
    faults.settle = ["answer lost"];
    const taken = await hold(wanted(100));
    const { tokensAtMs = 0, requestsAtMs = 0 } = await table.readClocks(target);
    expect(tokensAtMs - requestsAtMs).toBe(1_100 - 110);
    await over(desk.giveBack(taken, { kind: "neutral" }, 40));
    expect((await table.readClocks(target)).tokensAtMs).toBe(tokensAtMs - 440);
  });

  test("whose charge is never answered is spent, and no lease is left out", async () => {
    const { desk, take, over, faults, table, out, said } = someDesks(ledgers);
    faults.charge = ["answer lost", "answer lost"];
    expect(await over(take(wanted(100)))).toMatchObject({ kind: "infra", error: { name: "TimeoutError" } });
    await over(desk.idle());
    expect(await out()).toEqual([0, 0]);
    expect((await table.readClocks(target)).tokensAtMs).toBeGreaterThan(t0 + 1_000);
    expect(said()).not.toContain("settle");
  });

  test("charged for one who has left meanwhile comes back", async () => {
    const { desk, take, over, clock, table, out } = someDesks(ledgers);
    const abort = new AbortController();
    const taking = take(wanted(100), 1_000, abort.signal);
    await clock.advance(2 * 2 * wireMs + 1);
    abort.abort();
    const atMs = clock.nowMs();
    expect(await over(taking)).toEqual({ kind: "aborted" });
    expect(clock.nowMs()).toBe(atMs);
    await over(desk.idle());
    expect(await out()).toEqual([0, 0]);
    const { tokensAtMs = 0, requestsAtMs = 0 } = await table.readClocks(target);
    expect([tokensAtMs < atMs + wireMs, requestsAtMs]).toEqual([true, atMs - 1 + 110]);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  test("whose settlement fails is spent, and that is one trouble", async () => {
    const { desk, hold, over, faults, noted, out } = someDesks(ledgers);
    const taken = await hold(wanted(100));
    faults.settle = ["request lost", "request lost"];
    await over(desk.giveBack(taken, { kind: "neutral" }, 40));
    expect(noted.at(-1)).toEqual({ kind: "trouble", what: "settle a quota", error: "TimeoutError" });
    expect(await out()).toEqual([0, 0]);
  });
});

test.each([1, 2])(
  "600 requests a minute under 1.5 × demand are never exceeded in any 60 s, and nearly nine tenths are used (seed %i)",
  async (seed) => {
    const { newDesk, clock, out } = someDesks(ledgers, { seed });
    const [desks, minutes] = [Array.from({ length: 10 }, newDesk), 3];
    const wants = wanted(0, { requestsPerMinute: 600 });
    const admitted: number[] = [];
    const run = async (number: number) => {
      const desk = desks[number % desks.length];
      if (desk !== undefined) await insist(desk, wants, clock, (atMs) => admitted.push(atMs));
    };
    for (let number = 0; number < 900 * minutes; number++) clock.after((number * 60_000) / 900, () => void run(number));
    await clock.advance((minutes + 1) * 60_000);
    expect(fullestMinute(admitted)).toBeLessThanOrEqual(600);
    expect(admitted.filter((atMs) => atMs < t0 + minutes * 60_000).length).toBeGreaterThan(
      (minutes * 600 * 0.98) / 1.1,
    );
    expect(await out()).toEqual([0, 0]);
  },
);
