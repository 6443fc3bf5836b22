import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, BillingMode, ProjectionType, Table } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Construct } from "constructs";
import { sweepIndex } from "../lib/core/sweep.ts";
import { tableEncryption } from "./encryption.ts";
import { refuseUnfitTable } from "./given-table.ts";
import type { AnyTable } from "./given-table.ts";

export interface OurTableProps {
  readonly removalPolicy: RemovalPolicy;
  readonly key?: IKey | undefined;
  /** Serves instead of one of our own. */
  readonly given?: AnyTable | undefined;
}

/** What both tables have in common: paid by request, restorable, and hard to delete unless they are to go with the stack. */
export function tableProps(partitionKey: string, { removalPolicy, key }: OurTableProps): TableProps {
  return {
    partitionKey: { name: partitionKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    ...tableEncryption(key),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    timeToLiveAttribute: "ttl",
    removalPolicy,
    deletionProtection: removalPolicy === RemovalPolicy.RETAIN,
  };
}

/** One row a job: claim, budgets, stage and the reply. Its index holds the rows that the sweeper is to look at, and no other. */
export class JobTable extends Construct {
  readonly table: AnyTable;

  constructor(scope: Construct, id: string, props: OurTableProps) {
    super(scope, id);
    const key = "jobId";
    if (props.given !== undefined) {
      refuseUnfitTable("jobs", props.given, { key, index: sweepIndex });
      this.table = props.given;
      return;
    }
    const table = new Table(this, "Table", tableProps(key, props));
    table.addGlobalSecondaryIndex({
      indexName: sweepIndex.name,
      partitionKey: { name: sweepIndex.partitionKey, type: AttributeType.STRING },
      sortKey: { name: sweepIndex.sortKey, type: AttributeType.NUMBER },
      projectionType: ProjectionType.KEYS_ONLY,
    });
    this.table = table;
  }
}
