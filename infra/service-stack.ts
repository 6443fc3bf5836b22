import { createHash } from "node:crypto";
import { CfnOutput, RemovalPolicy, Stack } from "aws-cdk-lib";
import type { StackProps } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { checkConfig } from "../lib/config.ts";
import { lanes } from "../lib/core/lane.ts";
import { servingOf } from "../lib/core/serving.ts";
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

    const { jobQueues, parked, repliesQueue, jobTable, leaseTable, replies, dashboard, alarmTopic } = this.sluice;
    const output = (name: string, value: string) => new CfnOutput(this, name, { value });
    for (const lane of lanes) {
      output(`${lane}QueueUrl`, jobQueues[lane].queue.queueUrl);
      output(`${lane}QueueArn`, jobQueues[lane].queue.queueArn);
    }
    output("parkedQueueUrl", parked.queue.queueUrl);
    output("parkedQueueArn", parked.queue.queueArn);
    output("repliesQueueUrl", repliesQueue.queue.queueUrl);
    output("repliesQueueArn", repliesQueue.queue.queueArn);
    output("jobTableName", jobTable.table.tableName);
    output("leaseTableName", leaseTable.table.tableName);
    output("repliesBucketName", replies.bucket.bucketName);
    // An operator's command line compares its own copy of the config with it.
    output(
      "configHash",
      createHash("sha256")
        .update(servingOf(checkConfig(props.config)))
        .digest("hex")
        .slice(0, 16),
    );
    if (dashboard !== undefined) output("dashboardUrl", dashboard.url);
    if (alarmTopic !== undefined) output("alarmTopicArn", alarmTopic.topicArn);
  }

  private tableNamed(what: keyof NonNullable<SluiceProps["tables"]>, context: string): SluiceProps["tables"] {
    const name: unknown = this.node.tryGetContext(context);
    return typeof name === "string" ? { [what]: Table.fromTableName(this, context, name) } : {};
  }
}
