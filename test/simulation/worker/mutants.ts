import { processBatch } from "../../../lib/worker/process-batch.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import { crashesMax } from "../../../lib/core/limits.ts";
import type { World } from "../../../lib/ports.ts";
import type { Fault } from "./faults.ts";
import type { Mutant } from "./functions.ts";

/** A worker or a world that breaks a promise, and where that comes to light. */
export interface Culprit {
  readonly law: string;
  readonly says: string;
  readonly scenario: string;
  readonly faults?: readonly Fault[];
  readonly mutant: Mutant;
}

function changed<Port extends keyof World>(world: World, port: Port, methods: Partial<World[Port]>): World {
  return { ...world, [port]: { ...world[port], ...methods } };
}

async function rowOf({ jobs }: World, jobId: string): Promise<JobRow> {
  const row = await jobs.read(jobId);
  if (row === undefined) throw new Error(`no row of ${jobId}`);
  return row;
}

const forLong = 3_600_000;

export const culprits: readonly Culprit[] = [
  {
    law: "1",
    says: "a parked queue that keeps nothing",
    scenario: "damaged messages beside good ones",
    mutant: { world: (world) => changed(world, "queue", { park: async () => undefined }) },
  },
  {
    law: "1",
    says: "a worker that never gets to an end",
    scenario: "one job that somebody waits for",
    mutant: { handler: async (_worker, records) => records.map(({ messageId }) => messageId) },
  },
  {
    law: "2",
    says: "a reply that overwrites the one before it",
    scenario: "one job that somebody waits for",
    faults: [{ call: "jobs.complete", nth: 1, kind: "twice" }],
    mutant: {
      world: (world) => {
        let writes = 0;
        return changed(world, "jobs", {
          complete: async (claim, ask) => {
            const row = await rowOf(world, claim.jobId);
            put(world, { ...row, state: "ended", reply: ask.reply.replace("{", `{"write":${++writes},`) });
            return { kind: "stored" };
          },
        });
      },
    },
  },
  {
    law: "3",
    says: "a worker that acknowledges before it stores",
    scenario: "one job that somebody waits for",
    mutant: { view: storingLate },
  },
  {
    law: "3",
    says: "a worker that acknowledges what it has given back",
    scenario: "requeues while everything is throttled",
    mutant: { handler: async (...batch) => (await processBatch(...batch)).slice(0, 0) },
  },
  {
    law: "4",
    says: "a page without a bottom",
    scenario: "a batch of five",
    mutant: {
      world: (world) =>
        changed(world, "leases", {
          take: (ref, ids, _cap, untilMs, toll) => world.leases.take(ref, ids, Infinity, untilMs, toll),
        }),
    },
  },
  {
    law: "4",
    says: "a worker that takes no lease",
    scenario: "a batch of five",
    mutant: {
      view: (world) =>
        changed(world, "leases", {
          take: async (_ref, ids, _cap, untilMs) => ({
            kind: "taken",
            page: Object.fromEntries(ids.map((id) => [id, untilMs])),
          }),
        }),
    },
  },
  {
    law: "5",
    says: "a worker that returns its lease when it has stored",
    scenario: "one job that somebody waits for",
    mutant: { view: (world) => returningLate(world, 1_500) },
  },
  {
    law: "5",
    says: "a worker that sleeps on its lease",
    scenario: "one job that is tried again",
    mutant: { view: (world) => returningLate(world, 1_500) },
  },
  {
    law: "6",
    says: "a worker that returns nothing",
    scenario: "one job that somebody waits for",
    mutant: { view: (world) => changed(world, "leases", { giveBack: async () => ({}) }) },
  },
  {
    law: "6",
    says: "leases for an hour, and a crash",
    scenario: "one job that somebody waits for",
    faults: [{ call: "models.ask", nth: 1, kind: "crash-after" }],
    mutant: {
      world: (world) =>
        changed(world, "leases", {
          take: (ref, ids, cap, untilMs) => world.leases.take(ref, ids, cap, untilMs + forLong),
        }),
    },
  },
  {
    law: "6",
    says: "a probe that outlives its attempt by an hour",
    scenario: "a breaker opens, and a probe closes it",
    mutant: {
      view: (world) =>
        changed(world, "leases", {
          writeBreaker: async (target, seen, next) => {
            if (seen?.kind === "half-open" && next.kind !== "half-open") return { kind: "written" };
            const probe = next.kind === "half-open" ? next.probe : undefined;
            const lasting = probe && {
              kind: "half-open" as const,
              probe: { ...probe, expiresAtMs: probe.expiresAtMs + forLong },
            };
            return await world.leases.writeBreaker(target, seen, lasting ?? next);
          },
        }),
    },
  },
  {
    law: "7",
    says: "a table that hands out what has its answer",
    scenario: "copies of one message, in a batch and after it",
    mutant: {
      world: (world) =>
        changed(world, "jobs", {
          claim: async (ask) => {
            const answer = await world.jobs.claim(ask);
            if (answer.row?.reply === undefined) return answer;
            const { reply: _reply, ...row } = answer.row;
            return { kind: "taken", row: { ...row, holder: ask.holder, state: "running" } };
          },
        }),
    },
  },
  {
    law: "7",
    says: "a worker that gives its claim back with the answer in hand",
    scenario: "one job that is tried again",
    mutant: {
      view: (world) =>
        changed(world, "jobs", {
          complete: async (claim, { nowMs, progress }) => {
            const stage = { stage: "queued", stageAtMs: nowMs };
            const { row } = await world.jobs.giveBack(claim, { nowMs, notBeforeMs: nowMs, progress, stage });
            return { kind: "lost", row };
          },
        }),
    },
  },
  {
    law: "8",
    says: "a table that does not look at the fence",
    scenario: "an answer that takes a minute and a half",
    faults: [{ call: "jobs.complete", nth: 1, kind: "freeze-before" }],
    mutant: {
      world: (world) =>
        changed(world, "jobs", {
          complete: async ({ jobId }, ask) => {
            const { fence, holder = "" } = await rowOf(world, jobId);
            return await world.jobs.complete({ jobId, fence, holder }, ask);
          },
        }),
    },
  },
  {
    law: "8",
    says: "a claim that anybody may take",
    scenario: "copies of one message, in a batch and after it",
    mutant: {
      world: (world) =>
        changed(world, "jobs", {
          claim: async (ask) => {
            const row = await world.jobs.read(ask.jobId);
            if (row?.state === "running") put(world, { ...row, state: "queued", heldUntilMs: 0 });
            return await world.jobs.claim(ask);
          },
        }),
    },
  },
  {
    law: "8",
    says: "a replies queue that loses what it has taken",
    scenario: "a reply that only the replies queue takes",
    mutant: { world: (world) => changed(world, "outbox", { send: async () => undefined }) },
  },
  {
    law: "§10",
    says: "a worker that tells of a reply before it has stored it",
    scenario: "replies that somebody waits to be told of",
    mutant: { view: storingLate },
  },
  {
    law: "§10",
    says: "a worker that tells nobody",
    scenario: "replies that somebody waits to be told of",
    mutant: { view: (world) => changed(world, "announcer", { announce: async () => "gone" }) },
  },
  {
    law: "9",
    says: "a queue that gives a message up after two receives",
    scenario: "requeues while everything is throttled",
    mutant: { receivesMax: 2 },
  },
  {
    law: "9",
    says: "a table that has seen crashes where there were none",
    scenario: "requeues while everything is throttled",
    mutant: {
      world: (world) =>
        changed(world, "jobs", {
          claim: async (ask) => {
            const answer = await world.jobs.claim(ask);
            if (answer.row === undefined) return answer;
            return { ...answer, row: { ...answer.row, givenBack: answer.row.givenBack - crashesMax } };
          },
        }),
    },
  },
  {
    law: "10",
    says: "a worker that sleeps forty times as long",
    scenario: "one job that is tried again",
    mutant: {
      view: (world) =>
        changed(world, "clock", { sleep: (ms, signal) => world.clock.sleep(ms < 5_000 ? 40 * ms : ms, signal) }),
    },
  },
  {
    law: "10",
    says: "a worker that does not say what it slept",
    scenario: "one job that is tried again",
    mutant: {
      view: (world) =>
        changed(world, "jobs", {
          complete: (claim, ask) =>
            world.jobs.complete(claim, { ...ask, reply: ask.reply.replace(/"sleptMs":\d+/, '"sleptMs":0') }),
        }),
    },
  },
  {
    law: "11",
    says: "a worker that throws a batch away with its one bad record",
    scenario: "damaged messages beside good ones",
    mutant: {
      handler: async (worker, records, endsAtMs) => {
        if (!records.some(({ body }) => body.endsWith("torn"))) return await processBatch(worker, records, endsAtMs);
        for (const record of records) await worker.world.queue.park(record, "not_an_envelope", "body: is not JSON");
        return [];
      },
    },
  },
  {
    law: "12",
    says: "a worker that logs its payloads",
    scenario: "one job that somebody waits for",
    mutant: {
      handler: (worker, ...batch) =>
        processBatch({ ...worker, config: { ...worker.config, logPayloads: true } }, ...batch),
    },
  },
  {
    law: "§3",
    says: "a worker that leaves a timer to its next invocation",
    scenario: "one job that somebody waits for",
    mutant: {
      handler: async (worker, ...batch) => {
        worker.world.clock.after(7_000, () => undefined);
        return await processBatch(worker, ...batch);
      },
    },
  },
  {
    law: "§3",
    says: "a worker that never answers",
    scenario: "one job that somebody waits for",
    mutant: { handler: async (...batch) => (await processBatch(...batch), await new Promise<never>(() => undefined)) },
  },
  {
    law: "§3",
    says: "a worker that throws",
    scenario: "one job that somebody waits for",
    mutant: {
      handler: async () => {
        throw new TypeError("a bug of ours");
      },
    },
  },
  {
    law: "§3",
    says: "a worker that does not hear the bell",
    scenario: "a model that hangs until the bell",
    mutant: {
      handler: (worker, records, endsAtMs) => processBatch(worker, records, endsAtMs + 10_000),
    },
  },
];

/** It says that it has stored the reply, and does so afterwards. */
function storingLate(world: World): World {
  return changed(world, "jobs", {
    complete: async (claim, ask) => {
      world.clock.after(2_000, () => void world.jobs.complete(claim, ask));
      return { kind: "stored" };
    },
  });
}

/** The return goes over the wire that much later than the worker believes. */
function returningLate(world: World, ms: number): World {
  return changed(world, "leases", {
    giveBack: async (...args) => {
      world.clock.after(ms, () => void world.leases.giveBack(...args));
      return {};
    },
  });
}

function put({ jobs }: World, row: JobRow): void {
  if ("put" in jobs && typeof jobs.put === "function") jobs.put(row);
}
