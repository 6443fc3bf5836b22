import { expect, test } from "vitest";
import { sweepIndex } from "../../lib/core/sweep.ts";
import { template } from "./synth.ts";

test("the job table has one index, sparse and of keys alone: the sweeper's", () => {
  const tables = Object.values(template().findResources("AWS::DynamoDB::Table"));
  const { name, partitionKey, sortKey } = sweepIndex;
  expect(tables.map(({ Properties }) => Properties.GlobalSecondaryIndexes)).toEqual([
    [
      {
        IndexName: name,
        KeySchema: [
          { AttributeName: partitionKey, KeyType: "HASH" },
          { AttributeName: sortKey, KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
    undefined,
  ]);
  expect(tables[0]?.["Properties"].AttributeDefinitions).toEqual([
    { AttributeName: "jobId", AttributeType: "S" },
    { AttributeName: partitionKey, AttributeType: "S" },
    { AttributeName: sortKey, AttributeType: "N" },
  ]);
});
