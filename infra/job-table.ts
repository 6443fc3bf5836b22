import { RemovalPolicy } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";

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

/** One row a job: claim, budgets, stage and the reply. */
export class JobTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id);
    this.table = new Table(this, "Table", tableProps("jobId", removalPolicy));
  }
}
