import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Config } from "../../lib/core/config.ts";
import type { Json } from "../../lib/core/json.ts";
import type { LedgerOverride, OverrideAsk } from "../../lib/core/override.ts";
import { createVirtualClock } from "../../lib/memory/clock.ts";
import { createMemoryLeaseTable } from "../../lib/memory/lease-table.ts";
import { createMemoryWorker } from "../../lib/memory/world.ts";
import type { MemoryWorld } from "../../lib/memory/world.ts";
import type { LeaseTable, World } from "../../lib/ports.ts";
import { Board } from "../../lib/worker/board.ts";
import { LeaseDesk } from "../../lib/worker/lease-desk.ts";
import { t0 } from "../a.ts";
import { aService, config } from "./a-service.ts";
import type { Service } from "./a-service.ts";

const farMs = t0 + 86_400_000;
const calls = ({ world }: Service) =>
  world.models.play
    .record()
    .calls.map(({ modelId, region }) => `${modelId.includes("nova") ? "fast" : "smart"}@${region.slice(3, 7)}`)
    .join(" ");
const kinds = ({ world }: Service, kind: string) => world.noted.filter((it) => it.kind === kind);

/** A worker that has done a job before, and so knows what the table held then. */
async function aWarmService(facts: Parameters<typeof aService>[0] = {}): Promise<Service> {
  const service = aService(facts);
  service.send({ jobId: "before" });
  await service.invoke();
  return service;
}

/** An operator's word, and a second in which it is heard. */
async function say({ world }: Service, ...asks: readonly OverrideAsk[]): Promise<void> {
  for (const ask of asks) await world.leases.setOverride(ask);
  await world.clock.advance(1_000);
}

const onLedger = (name: string, override?: LedgerOverride): OverrideAsk => ({
  kind: "ledger",
  name,
  ...(override === undefined ? {} : { override }),
});
const out = (...ledgers: readonly string[]) => ledgers.map((name) => onLedger(name, { out: true }));

describe("a target that an operator takes out", () => {
  test("gets no attempt of a warm worker any more, and gets them again when it is brought back", async () => {
    const service = await aWarmService();
    for (const words of [out("fast@west"), [onLedger("fast@west")]]) {
      await say(service, ...words);
      service.send({ jobId: `job-${words[0]?.override === undefined}` });
      await service.invoke();
    }
    expect(calls(service)).toBe("fast@west fast@east fast@west");
    expect(kinds(service, "step-skipped")).toMatchObject([{ reason: "taken-out", target: "west" }]);
  });

  test("stays out for a worker that is deployed anew", async () => {
    const service = await aWarmService();
    await say(service, ...out("fast@west"));
    const { fast } = config.models;
    const targets = Object.fromEntries(
      Object.entries(fast?.targets ?? {}).map(([name, it]) => [name, { ...it, limit: { start: 5, max: 20 } }]),
    );
    const next: Config = { ...config, models: { ...config.models, fast: { targets, fallback: ["smart"] } } };
    service.send();
    await service.invoke({ worker: createMemoryWorker(service.world, next, "bg") });
    expect(calls(service)).toBe("fast@west fast@east");
  });

  test("sends the jobs back that no other can serve, until one can", async () => {
    const service = await aWarmService();
    await say(service, ...out("fast@west", "fast@east"));
    service.send({ fallback: "none" });
    expect(await service.invoke()).toHaveLength(1);
    service.send({ jobId: "known", fallback: "none" });
    expect(await service.invoke()).toHaveLength(1);
    expect(kinds(service, "requeued")).toMatchObject([{ cause: "taken-out" }, { jobId: "known", cause: "taken-out" }]);
    await say(service, onLedger("fast@east"));
    await service.drain();
    expect(service.reply()).toMatchObject({ ok: true, meta: { target: "east" } });
  });

  test("is told to somebody who waits, who may send the job again", async () => {
    const service = await aWarmService({ lane: "rt" });
    await say(service, ...out("fast@west", "fast@east"));
    service.send({ fallback: "none" });
    await service.invoke();
    expect(service.reply()).toMatchObject({ ok: false, error: { code: "target_unavailable", retryable: true } });
  });
});

describe("a target that an operator pauses", () => {
  test("is passed over until then", async () => {
    const service = await aWarmService();
    await say(service, onLedger("fast@west", { pausedUntilMs: t0 + 30_000 }));
    service.send({ jobId: "one" });
    await service.invoke();
    await service.world.clock.advance(30_000);
    service.send({ jobId: "two" });
    await service.invoke();
    expect(calls(service)).toBe("fast@west fast@east fast@west");
  });

  test("hides the messages that have no other, without a claim", async () => {
    const service = await aWarmService();
    await say(service, onLedger("fast@west", { pausedUntilMs: farMs }));
    service.send({ jobId: "pinned", model: "fast@west", fallback: "none" });
    service.send({ jobId: "other" });
    await service.invoke(); // hears of it beside its claim
    service.send({ jobId: "late", model: "fast@west", fallback: "none" });
    await service.invoke();
    expect(kinds(service, "hidden")).toMatchObject([{ why: "paused" }]);
    expect(service.world.jobs.rows().map(({ jobId }) => jobId)).not.toContain("late");
  });
});

describe("a lane that an operator pauses", () => {
  const pause = (untilMs: number): OverrideAsk => ({ kind: "lane", name: "bg", override: { pausedUntilMs: untilMs } });
  const resume: OverrideAsk = { kind: "lane", name: "bg" };

  test("makes no attempt, and from the second message on no claim either", async () => {
    const service = await aWarmService();
    await say(service, pause(farMs));
    for (const jobId of ["one", "two", "three"]) {
      service.send({ jobId });
      expect(await service.invoke()).toHaveLength(1);
    }
    expect(calls(service)).toBe("fast@west");
    expect(kinds(service, "claimed").map(({ jobId }) => jobId)).toEqual(["before", "one"]);
    expect(kinds(service, "hidden")).toMatchObject([{ why: "paused" }, { why: "paused" }]);
  });

  test("runs again once it is let go, though its worker has done nothing but hide", async () => {
    const service = await aWarmService();
    await say(service, pause(farMs));
    for (const jobId of ["one", "two"]) {
      service.send({ jobId });
      await service.invoke();
    }
    await say(service, resume);
    await service.drain();
    expect([service.reply("one"), service.reply("two")]).toMatchObject([{ ok: true }, { ok: true }]);
    expect(kinds(service, "hidden")).toHaveLength(1);
  });

  test("claims nothing for somebody who waits either, but for an answer near the deadline", async () => {
    const service = await aWarmService({ lane: "rt" });
    await say(service, { kind: "lane", name: "rt", override: { pausedUntilMs: farMs } });
    service.send({ jobId: "first" });
    await service.invoke();
    service.send({ jobId: "second" });
    await service.invoke();
    expect(kinds(service, "claimed").map(({ jobId }) => jobId)).toEqual(["before", "first"]);
    await service.drain();
    expect(service.reply("second")).toMatchObject({ ok: false, error: { code: "no_capacity", retryable: true } });
    expect(calls(service)).toBe("fast@west");
  });

  test("lets the attempt end that is under way", async () => {
    const service = aService({ script: { latency: 20_000 } });
    service.world.clock.after(5_000, () => void service.world.leases.setOverride(pause(farMs)));
    service.send();
    expect(await service.invoke()).toEqual([]);
    expect(service.reply()).toMatchObject({ ok: true });
  });

  test("is another than that of a job which has lowered its own", async () => {
    const service = await aWarmService();
    await say(service, { kind: "lane", name: "bulk", override: { pausedUntilMs: farMs } });
    service.send({ jobId: "bg" });
    service.send({ jobId: "bulk", lane: "bulk" });
    await service.invoke();
    expect(service.reply("bg")).toMatchObject({ ok: true });
    expect(service.reply("bulk")).toBeUndefined();
  });
});

describe("a chain that an operator orders anew", () => {
  const chain = (...steps: readonly string[]): OverrideAsk => ({
    kind: "model",
    name: "fast",
    override: { chain: steps },
  });

  test("is walked in that order, and its first step is no fallback", async () => {
    const service = await aWarmService({
      script: { rules: [{ when: { region: "us-east-1" }, do: { kind: "fail", error: "denied" } }] },
    });
    await say(service, chain("fast@east", "smart"));
    service.send();
    await service.invoke();
    expect(calls(service)).toBe("fast@west fast@east smart@west");
    expect(service.reply()).toMatchObject({ meta: { model: "smart", fallbackUsed: true } });
    await say(service, chain("smart"));
    service.send({ jobId: "next" });
    await service.invoke();
    expect(service.reply("next")).toMatchObject({ meta: { model: "smart", fallbackUsed: false } });
  });

  test("is told of the steps that its config does not have", async () => {
    const service = await aWarmService();
    await say(service, chain("fast@north", "smart", "novel"));
    service.send();
    await service.invoke();
    expect(service.reply()).toMatchObject({ meta: { model: "smart" } });
    expect(kinds(service, "trouble")).toMatchObject([
      { what: "read the override of model fast", error: "chain names what is not configured" },
    ]);
  });

  test("keeps the target first that a job has named, and serves no step that the job does not want", async () => {
    const service = await aWarmService();
    await say(service, chain("smart", "fast@east"));
    service.send({ jobId: "pinned", model: "fast@west" });
    service.send({ jobId: "alone", fallback: "none" });
    await service.invoke();
    expect(service.reply("pinned")).toMatchObject({ meta: { model: "fast", target: "west" } });
    expect(service.reply("alone")).toMatchObject({ meta: { model: "fast", target: "east" } });
  });
});

describe("a limit that an operator lowers", () => {
  /** A desk with a second of its own, over a ledger of that many pages. */
  function aDesk(limitMax: number) {
    const ledger = "fast@west";
    const clock = createVirtualClock(t0);
    const table = createMemoryLeaseTable();
    let pagesRead = 0;
    const leases: LeaseTable = {
      ...table,
      readPage: (ref) => {
        pagesRead += 1;
        return table.readPage(ref);
      },
    };
    const world = { clock, leases, telemetry: { note: () => undefined } };
    const desk = new LeaseDesk(world, new Board(world, { ledgers: [ledger] }));
    const tell = async (limit?: number) => {
      await leases.setOverride(onLedger(ledger, limit === undefined ? undefined : { limit }));
      await clock.advance(1_000);
    };
    /** So lately that it is not raised for now. */
    const learn = (lim: number) => leases.writeHead(ledger, undefined, { lim, cutAtMs: clock.nowMs() });
    const put = async (page: number, count: number, untilMs = farMs) => {
      await leases.createPage({ ledger, page });
      const ids = Array.from({ length: count }, (_, index) => `${page}-${index}`);
      await leases.take({ ledger, page }, ids, 32, untilMs);
    };
    const remove = (page: number, from: number, to: number) =>
      leases.giveBack(
        { ledger, page },
        Array.from({ length: to - from }, (_, index) => `${page}-${from + index}`),
      );
    const take = async (lane: "rt" | "bulk" = "rt") => {
      const ask = { ledger, lane, share: lane === "rt" ? 1 : 0.9, limitStart: limitMax, limitMax };
      const taking = desk.take({ target: ledger, asks: [ask] }, { waitMs: 0, signal: new AbortController().signal });
      let kind: string | undefined;
      void taking.then((taken) => (kind = taken.kind));
      await clock.runUntil(() => kind !== undefined);
      return kind;
    };
    return { learn, tell, put, remove, take, clock, reads: () => pagesRead };
  }

  test("admits nobody while more are out, and somebody as soon as it fits", async () => {
    const { tell, put, remove, take } = aDesk(10);
    await put(0, 8);
    await tell(5);
    expect(await take()).toBe("full");
    await remove(0, 4, 8);
    expect(await take()).toBe("taken");
    expect(await take()).toBe("full");
  });

  test("admits nobody to a page that is empty while another holds too many", async () => {
    const { tell, put, remove, take, reads } = aDesk(64);
    await put(0, 30);
    await put(1, 0);
    await tell(10);
    for (let tries = 0; tries < 8; tries += 1) expect(await take()).toBe("full");
    await remove(0, 6, 30);
    expect(await take()).toBe("full");
    await remove(0, 4, 6);
    expect(await take()).toBe("taken");
    const [once, ...again] = [reads(), await take(), reads()];
    expect(again).toEqual(["taken", once]);
  });

  test("and does so again when it was lifted in between", async () => {
    const { tell, put, take } = aDesk(64);
    await put(0, 0);
    await put(1, 0);
    await tell(10);
    expect(await take()).toBe("taken");
    await tell();
    expect(await take()).toBe("taken");
    await put(0, 30);
    await tell(10);
    for (let tries = 0; tries < 8; tries += 1) expect(await take()).toBe("full");
  });

  test("counts out what has lapsed, which nobody else would reclaim", async () => {
    const { tell, put, take, clock } = aDesk(64);
    await put(0, 30, t0 + 30_000);
    await put(1, 30, t0 + 30_000);
    await tell(10);
    expect(await take()).toBe("full");
    await clock.advance(40_000);
    expect(await take()).toBe("taken");
  });

  test("is shared by the lanes like the configured one", async () => {
    const { tell, put, take } = aDesk(20);
    await put(0, 9);
    await tell(10);
    expect(await take("bulk")).toBe("full");
    expect(await take("rt")).toBe("taken");
  });

  test("never goes above the configured maximum", async () => {
    const { tell, put, take } = aDesk(10);
    await put(0, 9);
    await tell(50);
    expect([await take(), await take()]).toEqual(["taken", "full"]);
  });

  test("unlearns nothing: what was learned is in force again when it goes", async () => {
    const { learn, tell, put, take } = aDesk(10);
    await learn(4);
    await tell(3);
    await put(0, 3);
    expect(await take()).toBe("full");
    await tell();
    expect([await take(), await take()]).toEqual(["taken", "full"]);
  });
});

describe("a word written by hand", () => {
  const written =
    (word: Json) =>
    (world: MemoryWorld): World => ({
      ...world,
      leases: {
        ...world.leases,
        readBoard: async (names) => {
          const rows = await world.leases.readBoard(names);
          return { ...rows, overrides: { ...rows.overrides, ledgers: new Map([["fast@west", word]]) } };
        },
      },
    });
  const troubles = (service: Service) =>
    kinds(service, "trouble").map((it) => (it.kind === "trouble" ? `${it.what}: ${it.error}` : ""));

  test("is taken for what can be understood of it, and the rest is said once", async () => {
    const service = aService({ around: written({ out: true, limt: 5 }) });
    for (const jobId of ["one", "two"]) {
      service.send({ jobId });
      await service.invoke();
      await service.world.clock.advance(1_000);
    }
    expect(calls(service)).toBe("fast@east fast@east");
    expect(troubles(service)).toEqual(["read the override of ledger fast@west: limt is not known"]);
  });

  test.each<Json>(["paused", 7, null, ["out"]])("that is no row, %j, hinders nobody", async (word) => {
    const service = aService({ around: written(word) });
    service.send();
    await service.invoke();
    expect(calls(service)).toBe("fast@west");
    expect(troubles(service)).toEqual(["read the override of ledger fast@west: the row is no object"]);
  });
});

test("while the table cannot be read the last word holds, and a worker that has heard none takes the config's", async () => {
  const down = { reads: false };
  const service = await aWarmService({
    around: (world) => ({
      ...world,
      leases: {
        ...world.leases,
        readBoard: async (names) => {
          if (down.reads) throw Object.assign(new Error("down"), { name: "TimeoutError" });
          return await world.leases.readBoard(names);
        },
      },
    }),
  });
  await say(service, ...out("fast@west"));
  service.send({ jobId: "heard" });
  await service.invoke();
  down.reads = true;
  for (const jobId of ["one", "two"]) {
    await say(service, onLedger("fast@west"));
    service.send({ jobId });
    await service.invoke();
  }
  expect(calls(service)).toBe("fast@west fast@east fast@east fast@east");
  expect(kinds(service, "trouble")).toMatchObject([{ what: "read the board", error: "TimeoutError" }]);
});

test("whatever operators say is heard by every warm worker within five seconds, whenever it looks", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          afterMs: fc.integer({ min: 0, max: 3_000 }),
          limit: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
          travelMs: fc.integer({ min: 0, max: 800 }),
        }),
        { minLength: 1, maxLength: 20 },
      ),
      async (said) => {
        const clock = createVirtualClock(t0);
        const table = createMemoryLeaseTable();
        let travelMs = 0;
        const leases: LeaseTable = {
          ...table,
          readBoard: async (names) => {
            const rows = await table.readBoard(names);
            await clock.sleep(travelMs);
            return rows;
          },
        };
        const board = new Board({ clock, leases, telemetry: { note: () => undefined } }, { ledgers: ["a"] });
        const history: { readonly atMs: number; readonly limit: number | undefined }[] = [
          { atMs: 0, limit: undefined },
        ];
        for (const { afterMs, limit, travelMs: ms } of said) {
          travelMs = ms;
          await table.setOverride(onLedger("a", limit === undefined ? undefined : { limit }));
          history.push({ atMs: clock.nowMs(), limit });
          await clock.advance(afterMs);
          let isRead = false;
          void board.read().then(() => (isRead = true));
          await clock.runUntil(() => isRead);
          const seen = board.overrides.ledgers.get("a")?.limit;
          const oldestMs = clock.nowMs() - 5_000;
          const standing = history.filter((_, index) => (history[index + 1]?.atMs ?? Infinity) >= oldestMs);
          expect(standing.map((it) => it.limit)).toContain(seen);
        }
      },
    ),
  ));

test("the board of a worker reads every target, lane and model of its config in one request", async () => {
  const names: unknown[] = [];
  const service = aService({
    around: (world) => ({
      ...world,
      leases: {
        ...world.leases,
        readBoard: (asked) => {
          names.push(asked);
          return world.leases.readBoard(asked);
        },
      },
    }),
  });
  service.send();
  await service.invoke();
  const targets = ["fast@west", "fast@east", "smart@west"];
  expect(names).toEqual([
    { budgets: [], ledgers: targets, targets, lanes: ["rt", "bg", "bulk"], models: ["fast", "smart"] },
  ]);
});
