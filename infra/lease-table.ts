import type { RemovalPolicy } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { tableProps } from "./job-table.ts";

/** Pages of leases, and the heads with what is learned and told about their limits. */
export class LeaseTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id);
    this.table = new Table(this, "Table", tableProps("pk", removalPolicy));
  }
}
