import { RemovalPolicy, Stack } from "aws-cdk-lib";
import type { StackProps } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { addOutputs } from "./outputs.ts";
import { Sluice } from "./sluice.ts";
import type { SluiceProps } from "./sluice-props.ts";

/**
 * The service as an app of its own. With the context `removable=true` everything goes with the stack: for tests. With
 * `rollout=none` new versions take over at once. `jobTable` and `leaseTable` name tables that take the place of ours, restored
 * ones for instance.
 */
export class ServiceStack extends Stack {
  readonly sluice: Sluice;

  constructor(scope: Construct, id: string, props: StackProps & Omit<SluiceProps, "removalPolicy">) {
    super(scope, id, props);
    const removable = [true, "true"].includes(this.node.tryGetContext("removable"));
    this.sluice = new Sluice(this, "Llm", {
      ...props,
      tables: { ...props.tables, ...this.tableNamed("jobs", "jobTable"), ...this.tableNamed("leases", "leaseTable") },
      ...(this.node.tryGetContext("rollout") === "none" ? { rollout: false } : {}),
      removalPolicy: removable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
    });

    addOutputs(this.sluice);
  }

  private tableNamed(what: keyof NonNullable<SluiceProps["tables"]>, context: string): SluiceProps["tables"] {
    const name: unknown = this.node.tryGetContext(context);
    return typeof name === "string" ? { [what]: Table.fromTableName(this, context, name) } : {};
  }
}
