import { Duration } from "aws-cdk-lib";
import type { RemovalPolicy } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Function, LoggingFormat, Runtime } from "aws-cdk-lib/aws-lambda";
import type { Alias, Code } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { Lane } from "../lib/core/lane.ts";
import { laneLimits } from "../lib/core/limits.ts";
import type { Mapping } from "./concurrency.ts";

export interface WorkerFunctionProps {
  readonly lane: Lane;
  readonly queue: IQueue;
  readonly mapping: Mapping;
  readonly code: Code;
  readonly environment: Readonly<Record<string, string>>;
  readonly logRetention: RetentionDays;
  readonly removalPolicy: RemovalPolicy;
}

/** A lane's worker behind its alias `live`, fed by the lane's queue. */
export class WorkerFunction extends Construct {
  /** Starts with no right but to log and to receive: others are granted by what they are for. */
  readonly role: Role;
  readonly function: Function;
  readonly alias: Alias;

  constructor(scope: Construct, id: string, props: WorkerFunctionProps) {
    super(scope, id);
    const { lane, queue, mapping, code, environment, removalPolicy } = props;

    const logGroup = new LogGroup(this, "Logs", { retention: props.logRetention, removalPolicy });
    // A role of our own: the one CDK makes carries AWS's managed policy, which may log anywhere.
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn);
    this.allow(
      ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"],
      queue.queueArn,
    );
    // A given queue may have a key of its owner's, without which every message would end with the dead letters unread.
    queue.encryptionMasterKey?.grantDecrypt(this.role);

    this.function = new Function(this, "Function", {
      description: `Sluice: runs the jobs of the ${lane} lane`,
      code,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: 512,
      timeout: Duration.millis(laneLimits[lane].functionTimeoutMs),
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      environment: { ...environment, SLUICE_LANE: lane, SLUICE_QUEUE_URL: queue.queueUrl },
    });
    this.alias = this.function.addAlias("live");

    const windowS = laneLimits[lane].batchWindowS;
    this.alias.addEventSourceMapping("Mapping", {
      eventSourceArn: queue.queueArn,
      batchSize: mapping.batchSize,
      maxConcurrency: mapping.concurrencyMax,
      reportBatchItemFailures: true,
      ...(windowS > 0 ? { maxBatchingWindow: Duration.seconds(windowS) } : {}),
    });
  }

  allow(actions: string[], ...resources: string[]): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ effect: Effect.ALLOW, actions, resources }));
  }
}
