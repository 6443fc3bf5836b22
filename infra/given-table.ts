import { Stack } from "aws-cdk-lib";
import { CfnGlobalTable, CfnTable } from "aws-cdk-lib/aws-dynamodb";
import type { ITable, Table, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { ConfigError } from "../lib/config.ts";

/** CDK's own classes do not fit its interface where optional properties are taken exactly. */
export type AnyTable = ITable | Table | TableV2;

/** What a table is asked to have. */
export interface TableNeeds {
  readonly key: string;
  readonly index?: { readonly name: string; readonly partitionKey: string; readonly sortKey: string };
}

/** As both of CloudFormation's tables have it. */
interface TableFacts {
  readonly keySchema?: readonly KeyPart[];
  readonly timeToLiveSpecification?: { readonly attributeName?: string };
  readonly globalSecondaryIndexes?: readonly { readonly indexName: string; readonly keySchema: readonly KeyPart[] }[];
}

interface KeyPart {
  readonly attributeName: string;
  readonly keyType: string;
}

const ttlAttribute = "ttl";

/**
 * Nothing is known at synth of an imported table.
 * @throws ConfigError for one of this app that cannot serve, with the remedy.
 */
export function refuseUnfitTable(name: "jobs" | "leases", table: AnyTable, needs: TableNeeds): void {
  const cfn = table.node.tryFindChild("Resource");
  if (!(cfn instanceof CfnTable || cfn instanceof CfnGlobalTable)) return;
  const { keySchema, timeToLiveSpecification, globalSecondaryIndexes } = cfn;
  const facts = { keySchema, timeToLiveSpecification, globalSecondaryIndexes };
  const why = unfit(needs, Stack.of(table).resolve(facts));
  if (why !== undefined) throw new ConfigError(`Sluice: the table given for ${name} ${why}`);
}

function unfit({ key, index }: TableNeeds, facts: TableFacts): string | undefined {
  const { keySchema = [], timeToLiveSpecification: ttl, globalSecondaryIndexes = [] } = facts;
  if (partsOf(keySchema) !== key)
    return `has the key ${partsOf(keySchema)}; give one whose only key is ${key}, a string`;
  if (ttl?.attributeName !== ttlAttribute) {
    return `keeps old rows for ever; set its timeToLiveAttribute to ${ttlAttribute}`;
  }
  if (index === undefined) return undefined;
  const needed = `${index.partitionKey}, ${index.sortKey}`;
  const found = globalSecondaryIndexes.some(
    ({ indexName, keySchema: parts }) => indexName === index.name && partsOf(parts) === needed,
  );
  if (found) return undefined;
  return `has no index by which the sweeper finds lost jobs; add one named ${index.name} with the keys ${needed} (a string, a number), keys only`;
}

/** Partition key first. */
function partsOf(keySchema: readonly KeyPart[]): string {
  return keySchema
    .toSorted((a, b) => a.keyType.localeCompare(b.keyType))
    .map(({ attributeName }) => attributeName)
    .join(", ");
}
