import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, BillingMode, ProjectionType, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { sweepIndex } from "../lib/core/sweep.ts";

/** What both tables have in common: paid by request, restorable, and hard to delete unless they are to go with the stack. */
export function tableProps(key: string, removalPolicy: RemovalPolicy): TableProps {
  return {
    partitionKey: { name: key, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    timeToLiveAttribute: "ttl",
    removalPolicy,
    deletionProtection: removalPolicy === RemovalPolicy.RETAIN,
  };
}

/** One row a job: claim, budgets, stage and the reply. Its index holds the rows that the sweeper is to look at, and no other. */
export class JobTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id);
    this.table = new Table(this, "Table", tableProps("jobId", removalPolicy));
    this.table.addGlobalSecondaryIndex({
      indexName: sweepIndex.name,
      partitionKey: { name: sweepIndex.partitionKey, type: AttributeType.STRING },
      sortKey: { name: sweepIndex.sortKey, type: AttributeType.NUMBER },
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
}
