import { Aws, Duration, Stack } from "aws-cdk-lib";
import { AttributeType, StreamViewType, TableEncryption, Table } from "aws-cdk-lib/aws-dynamodb";
import { PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnPipe } from "aws-cdk-lib/aws-pipes";
import { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { Sluice } from "../sluice.ts";
import type { ExampleProps } from "./example.ts";

/** Texts in quotes: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-input-transformation.html */
const envelopeOfRow = `{
  "jobId": "note/<$.dynamodb.Keys.id.S>",
  "model": "fast-text",
  "op": "converse",
  "params": { "messages": [{ "role": "user", "content": [{ "text": "<$.dynamodb.NewImage.text.S>" }] }] }
}`;

/** A job for each new row of a table, and one for each message of a queue that is not Sluice's. */
export class PipeExample extends Stack {
  constructor(scope: Construct, id: string, props: ExampleProps) {
    super(scope, id, props);
    const llm = new Sluice(this, "Llm", props);
    const target = llm.jobQueues.bg.queue.queueArn;

    const role = new Role(this, "PipeRole", {
      assumedBy: new ServicePrincipal("pipes.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
      }),
    });
    llm.allowFeed(role);

    const notes = new Table(this, "Notes", {
      partitionKey: { name: "id", type: AttributeType.STRING },
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      stream: StreamViewType.NEW_IMAGE,
    });
    const streamArn = notes.tableStreamArn ?? "";
    const reading = [
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
      "dynamodb:ListStreams",
    ];
    role.addToPolicy(new PolicyStatement({ actions: reading, resources: [streamArn] }));
    const rows = new CfnPipe(this, "Rows", {
      roleArn: role.roleArn,
      source: streamArn,
      sourceParameters: {
        dynamoDbStreamParameters: { startingPosition: "TRIM_HORIZON" },
        filterCriteria: { filters: [{ pattern: JSON.stringify({ eventName: ["INSERT"] }) }] },
      },
      target,
      targetParameters: { inputTemplate: envelopeOfRow },
    });

    const common = { enforceSSL: true, retentionPeriod: Duration.days(14) };
    const dead = new Queue(this, "Dead", common);
    const theirs = new Queue(this, "Theirs", { ...common, deadLetterQueue: { queue: dead, maxReceiveCount: 5 } });
    theirs.grantConsumeMessages(role);
    // No template: the record comes whole, and its body is the envelope.
    const messages = new CfnPipe(this, "Messages", { roleArn: role.roleArn, source: theirs.queueArn, target });

    // A pipe tries its role when it is made.
    for (const pipe of [rows, messages]) pipe.node.addDependency(role);
  }
}
