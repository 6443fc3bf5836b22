/** The quota of a target whose ledger has one page: it is charged with the take and settled with the return. */
import { describe, expect, test } from "vitest";
import type { Wanted } from "../../lib/core/ledgers.ts";
import { leaseGraceMs, leaseMs } from "../../lib/core/limits.ts";
import type { NoLease } from "../../lib/core/lease.ts";
import type { Quota } from "../../lib/core/rate.ts";
import type { TakenLease } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { fullestMinute, insist } from "./a-demand.ts";
import { someDesks, wireMs } from "./a-desk.ts";

const target = "fast-text@us-west-2";
const group = "group:nova";
/** A token is 11 ms of its clock, a request 110. */
const quota: Quota = { tokensPerMinute: 6_000, requestsPerMinute: 600 };

const wanted = (tokens: number, of: Quota = quota, limits = { target: 30, group: 30 }): Wanted => {
  const ask = { lane: "rt", share: 1 } as const;
  return {
    target,
    asks: [
      { ...ask, ledger: group, limitStart: limits.group, limitMax: limits.group },
      { ...ask, ledger: target, limitStart: limits.target, limitMax: limits.target, charge: { tokens, quota: of } },
    ],
  };
};
const desks = (facts: { readonly seed?: number } = {}) => someDesks([target, group], facts);
const now = (): { waitMs: number; signal: AbortSignal } => ({ waitMs: 0, signal: new AbortController().signal });
const untilMs = (refused: TakenLease | NoLease) => (refused.kind === "tokens" ? refused.untilMs : refused.kind);

describe("the quota of a minute on the only page", () => {
  test("costs no request of its own", async () => {
    const { desk, hold, over, said, table } = desks();
    const taken = await hold(wanted(100));
    expect(await table.readClocks(target)).toEqual({
      tokensAtMs: t0 + 2 * wireMs + 1_100,
      requestsAtMs: t0 + 2 * wireMs + 110,
    });
    await over(desk.giveBack(taken, { kind: "neutral" }, 60));
    expect(said()).toEqual([`take ${group}`, `take ${target}`, `giveBack ${target}`, `giveBack ${group}`]);
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs + 1_100 - 660);
  });

  test("is charged in one write for all who come together", async () => {
    const { take, over, said, table } = desks();
    const taken = await over(Promise.all([100, 50, 25].map((tokens) => take(wanted(tokens)))));
    expect(taken.map(({ kind }) => kind)).toEqual(["taken", "taken", "taken"]);
    expect(said()).toEqual([`take ${group}`, `take ${target}`]);
    expect(await table.readClocks(target)).toMatchObject({ tokensAtMs: t0 + 2 * wireMs + 175 * 11 });
  });

  test("admits of those as many as if each came alone, and tells the others the exact wait", async () => {
    const { take, over, said, table, out } = desks();
    const taken = await over(Promise.all([300, 200, 100, 1].map((tokens) => take(wanted(tokens)))));
    const readyAtMs = t0 + 2 * wireMs + 500 * 11 - 5_000 + 1;
    expect(taken.map(untilMs)).toEqual(["taken", "taken", readyAtMs, readyAtMs]);
    expect(said().filter((request) => request === `take ${target}`)).toHaveLength(1);
    expect(await out()).toEqual([2, 2]);
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs + 500 * 11);
  });

  test("settles in one write for all who return together", async () => {
    const { desk, take, over, said, table, sent } = desks();
    const taken = await over(Promise.all([100, 50].map((tokens) => take(wanted(tokens)))));
    sent.length = 0;
    const back = taken.flatMap((each) => (each.kind === "taken" ? [desk.giveBack(each, { kind: "neutral" }, 20)] : []));
    await over(Promise.all(back));
    expect(said()).toEqual([`giveBack ${target}`, `giveBack ${group}`]);
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs + 110 * 11);
  });

  test("lets a big prompt go into debt, and the others wait exactly until it is paid", async () => {
    const { take, newDesk, over, clock, out } = desks();
    const other = newDesk();
    expect((await over(take(wanted(6_000)))).kind).toBe("taken");
    const readyAtMs = t0 + 2 * wireMs + 66_000 - 5_000 + 1;
    expect(untilMs(await over(other.take(wanted(1), now())))).toBe(readyAtMs);
    expect(await out()).toEqual([1, 1]);
    await clock.advance(readyAtMs - clock.nowMs() - 3 * 2 * wireMs);
    expect(untilMs(await over(other.take(wanted(1), now())))).toBe(readyAtMs);
    await clock.advance(readyAtMs - clock.nowMs());
    expect((await over(other.take(wanted(1), now()))).kind).toBe("taken");
  });

  test("that is spent costs the next one the asking only once a second", async () => {
    const { take, over, said, sent } = desks();
    await over(take(wanted(6_000)));
    const first = await over(take(wanted(1)));
    expect(first.kind).toBe("tokens");
    sent.length = 0;
    expect(await over(take(wanted(1)))).toEqual(first);
    expect(said()).toEqual([]);
  });

  test("is not thought spent once this container has given back", async () => {
    const { desk, take, hold, over } = desks();
    const big = await hold(wanted(6_000));
    expect((await over(take(wanted(1)))).kind).toBe("tokens");
    await over(desk.giveBack(big, { kind: "neutral" }, 6_000));
    expect((await over(take(wanted(1)))).kind).toBe("taken");
  });

  test("that a prompt is above of is told at once, without a request", async () => {
    const { take, over, said } = desks();
    expect(await over(take(wanted(6_001)))).toEqual({ kind: "above-quota", tokensMax: 6_000 });
    expect(said()).toEqual([]);
  });

  test("is charged once though the take's answer is lost, and settled once though the return's is", async () => {
    const { desk, hold, over, faults, table } = desks();
    faults.take = [undefined, "answer lost"];
    faults.giveBack = ["answer lost", "answer lost"];
    const taken = await hold(wanted(100));
    expect(await table.readClocks(target)).toEqual({
      tokensAtMs: t0 + 2 * wireMs + 1_100,
      requestsAtMs: t0 + 2 * wireMs + 110,
    });
    await over(desk.giveBack(taken, { kind: "neutral" }, 40));
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs + 1_100 - 440);
  });

  test("is settled though the return is lost once", async () => {
    const { desk, hold, over, faults, table } = desks();
    const taken = await hold(wanted(100));
    faults.giveBack = ["request lost"];
    await over(desk.giveBack(taken, { kind: "neutral" }, 40));
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs + 1_100 - 440);
  });

  test("whose take is never answered gets its tokens back with the lease", async () => {
    const { desk, take, over, faults, table, out } = desks();
    faults.take = [undefined, "answer lost", "answer lost"];
    expect(await over(take(wanted(100)))).toMatchObject({ kind: "infra", error: { name: "TimeoutError" } });
    await over(desk.idle());
    expect(await out()).toEqual([0, 0]);
    expect(await table.readClocks(target)).toEqual({
      tokensAtMs: t0 + 2 * wireMs,
      requestsAtMs: t0 + 2 * wireMs + 110,
    });
  });

  test("is set back for one who has left meanwhile", async () => {
    const { desk, take, over, clock, table, out } = desks();
    const abort = new AbortController();
    const taking = take(wanted(100), 1_000, abort.signal);
    await clock.advance(2 * wireMs + 1);
    abort.abort();
    expect(await over(taking)).toEqual({ kind: "aborted" });
    await over(desk.idle());
    expect(await out()).toEqual([0, 0]);
    expect((await table.readClocks(target)).tokensAtMs).toBe(t0 + 2 * wireMs);
    expect(clock.nextAtMs()).toBeUndefined();
  });

  test("is set back where another ledger refuses afterwards", async () => {
    const { desk, take, over, clock, table, others, out } = desks();
    const one = wanted(100, quota, { target: 1, group: 1 });
    await others(target, 1);
    const taking = take(one, 5_000);
    await clock.advance(100); // full, with empty hands: it waits at the target
    await others(group, 1);
    await table.giveBack({ ledger: target, page: 0 }, ["other-0"]);
    expect(await over(taking)).toEqual({ kind: "full", ledger: group });
    await over(desk.idle());
    expect(await out()).toEqual([0, 1]);
    const { tokensAtMs = 0, requestsAtMs = 0 } = await table.readClocks(target);
    expect([tokensAtMs > t0, requestsAtMs - tokensAtMs]).toEqual([true, 110]);
  });

  test("gets nothing back for a lease that somebody has taken away", async () => {
    const { desk, hold, newDesk, over, clock, table } = desks();
    const one = (tokens: number) => wanted(tokens, quota, { target: 1, group: 30 });
    const first = await hold(one(1_000));
    await clock.advance(leaseMs + leaseGraceMs + 1);
    const second = await over(newDesk().take(one(100), now()));
    expect(second.kind).toBe("taken");
    const { tokensAtMs } = await table.readClocks(target);
    await over(desk.giveBack(first, { kind: "neutral" }, 1_000));
    expect((await table.readClocks(target)).tokensAtMs).toBe(tokensAtMs);
  });
});

test.each([
  [600, 1],
  [60, 2],
  [10, 3],
])(
  "%i requests a minute, asked for ten at a time with answers lost, are never exceeded in any 60 s, and nine tenths are used (seed %i)",
  async (requestsPerMinute, seed) => {
    const { desk, newDesk, clock, out, faults } = desks({ seed });
    const [all, minutes] = [[desk, newDesk(), newDesk()], 4];
    const wants = wanted(0, { requestsPerMinute });
    faults.take = Array.from({ length: 9_999 }, (_, index) => (index % 7 === 3 ? "answer lost" : undefined));
    const admitted: number[] = [];
    const run = (number: number) =>
      insist(all[number % all.length] ?? desk, wants, clock, (atMs) => admitted.push(atMs));
    const jobs = requestsPerMinute * minutes * 1.5;
    // Thirty at once, ten on each desk.
    for (let number = 0; number < jobs; number++)
      clock.after((Math.floor(number / 30) * 30 * minutes * 60_000) / jobs, () => void run(number));
    await clock.advance((minutes + 2) * 60_000);
    expect(fullestMinute(admitted)).toBeLessThanOrEqual(requestsPerMinute);
    expect(admitted.filter((atMs) => atMs < t0 + minutes * 60_000).length).toBeGreaterThan(
      (minutes * requestsPerMinute * 0.95) / 1.1,
    );
    expect(await out()).toEqual([0, 0]);
  },
);
