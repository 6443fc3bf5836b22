import { Duration } from "aws-cdk-lib";
import type { RemovalPolicy } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Function, LoggingFormat, Runtime } from "aws-cdk-lib/aws-lambda";
import type { Alias, Code } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { Mapping } from "./concurrency.ts";

/** What all functions of a stack have in common. */
export interface FunctionProps {
  readonly code: Code;
  readonly environment: Readonly<Record<string, string>>;
  readonly logRetention: RetentionDays;
  readonly removalPolicy: RemovalPolicy;
}

export interface LiveFunctionProps extends FunctionProps {
  readonly description: string;
  readonly timeoutMs: number;
}

/** A function behind its alias `live`: what invokes it names the alias, never a version. */
export class LiveFunction extends Construct {
  /** Starts with no right but to log: others are granted by what they are for. */
  readonly role: Role;
  readonly function: Function;
  readonly alias: Alias;

  constructor(scope: Construct, id: string, props: LiveFunctionProps) {
    super(scope, id);
    const { code, description, environment, removalPolicy } = props;

    const logGroup = new LogGroup(this, "Logs", { retention: props.logRetention, removalPolicy });
    // A role of our own: the one CDK makes carries AWS's managed policy, which may log anywhere.
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn);

    this.function = new Function(this, "Function", {
      description,
      code,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: 512,
      timeout: Duration.millis(props.timeoutMs),
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      environment,
    });
    this.alias = this.function.addAlias("live");
  }

  allow(actions: string[], ...resources: string[]): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ effect: Effect.ALLOW, actions, resources }));
  }

  /** Maps a queue to the function, which answers for each message by itself. */
  feedFrom(queue: IQueue, mapping: Mapping & { readonly windowS?: number }, id = "Mapping"): void {
    const { windowS = 0 } = mapping;
    this.allow(
      ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"],
      queue.queueArn,
    );
    // A given queue may have a key of its owner's, without which every message would end with the dead letters unread.
    queue.encryptionMasterKey?.grantDecrypt(this.role);
    this.alias.addEventSourceMapping(id, {
      eventSourceArn: queue.queueArn,
      batchSize: mapping.batchSize,
      maxConcurrency: mapping.concurrencyMax,
      reportBatchItemFailures: true,
      ...(windowS > 0 ? { maxBatchingWindow: Duration.seconds(windowS) } : {}),
    });
  }
}
