import { processBatch } from "../../../lib/worker/process-batch.ts";
import { crashesMax } from "../../../lib/core/limits.ts";
import type { World } from "../../../lib/ports.ts";
import { changed, put, rowOf } from "./culprit.ts";
import type { Culprit } from "./culprit.ts";

export const culpritsOfReplies: readonly Culprit[] = [
  {
    law: "1",
    says: "a parked queue that keeps nothing",
    scenario: "damaged messages beside good ones",
    mutant: { world: (world) => changed(world, "queue", { park: async () => undefined }) },
  },
  {
    law: "9",
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
