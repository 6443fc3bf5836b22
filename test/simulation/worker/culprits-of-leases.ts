import { processBatch } from "../../../lib/worker/process-batch.ts";
import type { World } from "../../../lib/ports.ts";
import { changed } from "./culprit.ts";
import type { Culprit } from "./culprit.ts";

/** Longer than any run is watched after its end. */
const forLong = 600_000;

export const culpritsOfLeases: readonly Culprit[] = [
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
    says: "leases for ten minutes, and a crash",
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
    says: "a probe that outlives its attempt by ten minutes",
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

/** The return goes over the wire that much later than the worker believes. */
function returningLate(world: World, ms: number): World {
  return changed(world, "leases", {
    giveBack: async (...args) => {
      world.clock.after(ms, () => void world.leases.giveBack(...args));
      return {};
    },
  });
}
