import { Table } from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import { refuseUnfitTable } from "./given-table.ts";
import type { AnyTable } from "./given-table.ts";
import { tableProps } from "./job-table.ts";
import type { OurTableProps } from "./job-table.ts";

/** Pages of leases, and the heads with what is learned and told about their limits. */
export class LeaseTable extends Construct {
  readonly table: AnyTable;

  constructor(scope: Construct, id: string, props: OurTableProps) {
    super(scope, id);
    const key = "pk";
    if (props.given !== undefined) refuseUnfitTable("leases", props.given, { key });
    this.table = props.given ?? new Table(this, "Table", tableProps(key, props));
  }
}
