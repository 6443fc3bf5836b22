/** The job tables that the contract holds for, each with what a test needs to look behind it. */
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { Claim, JobRow } from "../../lib/core/claim.ts";
import { createJobTable } from "../../lib/aws/job-table.ts";
import { systemClock } from "../../lib/aws/clock.ts";
import { createMemoryJobTable } from "../../lib/memory/job-table.ts";
import type { JobTable } from "../../lib/ports.ts";
import * as engines from "./engines.ts";

export interface JobTableBench {
  readonly jobs: JobTable;
  /** Writes a row as no verb would. */
  readonly put: (row: Partial<JobRow> & Pick<JobRow, "jobId">) => Promise<void>;
  /** The next request reaches the table, its answer does not come back; what sends again sends again. */
  readonly loseNextAnswer: () => void;
  /** What was sent since the last call; the memory sends nothing. */
  readonly sent: () => readonly string[];
}

export const jobTables: readonly (readonly [name: string, open: () => Promise<JobTableBench>])[] = [
  ["in memory", async () => memoryBench()],
  ...engines.dynamoEngines.map(
    ([name, start]) => [`on ${name}`, async () => dynamoBench(await engines.engineForTests(start))] as const,
  ),
];

/**
 * Where an engine differs from DynamoDB, and what it costs the contract.
 * dynalite keeps the row that refused to itself: the adapter reads it, one request more for each refusal.
 */
export const readsAfterRefusal = (name: string) => name === "on dynalite";

/** A table on a real engine behind a client whose wire is watched, and can lose what comes back. */
export async function dynamoBench(
  endpoint: string,
): Promise<JobTableBench & { client: DynamoDBClient; table: string }> {
  const table = await engines.createJobTable(endpoint);
  const client = new DynamoDBClient({ ...engines.localClient(endpoint), maxAttempts: 3 });
  let sent: string[] = [];
  let losing = false;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      sent.push(String(context.commandName).replace("Command", ""));
      const lost = losing;
      losing = false;
      const answer = await next(args);
      if (lost) throw Object.assign(new Error("the answer was lost"), { name: "TimeoutError" });
      return answer;
    },
    { step: "deserialize", priority: "high" }, // inside the SDK's retries: each request on the wire passes here
  );
  return {
    jobs: createJobTable(client, table, systemClock),
    client,
    table,
    put: async (row) => {
      const entries = Object.entries(row).map(([name, value]) => [
        name,
        typeof value === "string" ? { S: value } : { N: JSON.stringify(value) },
      ]);
      await client.send(new PutItemCommand({ TableName: table, Item: Object.fromEntries(entries) }));
      sent = [];
    },
    loseNextAnswer: () => {
      losing = true;
    },
    sent: () => {
      const all = sent;
      sent = [];
      return all;
    },
  };
}

/** In memory a lost answer is the call made twice, as the SDK makes it. */
function memoryBench(): JobTableBench {
  const table = createMemoryJobTable();
  let losing = false;
  const jobs = new Proxy(table, {
    get: (target, verb: keyof JobTable) =>
      async function twiceIfLost(...args: unknown[]): Promise<unknown> {
        const call = () => Reflect.apply(target[verb], target, args);
        if (losing) await call();
        losing = false;
        return call();
      },
  });
  return {
    jobs,
    put: async (row) => table.put(row),
    loseNextAnswer: () => {
      losing = true;
    },
    sent: () => [],
  };
}

/** The claim that a taken answer holds. */
export function claimOn(row: JobRow): Claim {
  return { jobId: row.jobId, holder: row.holder ?? "", fence: row.fence };
}
