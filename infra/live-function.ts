import { Duration, Validations } from "aws-cdk-lib";
import type { RemovalPolicy } from "aws-cdk-lib";
import type { ISecurityGroup, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Function, LoggingFormat, RecursiveLoop, Runtime, Tracing } from "aws-cdk-lib/aws-lambda";
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
  /** Its VPC and place there; without it the function is in none. */
  readonly network?: Network | undefined;
  /** Default: Lambda stops a loop of messages after some 16 rounds. */
  readonly recursiveLoop?: RecursiveLoop | undefined;
  /** Default: no traces. */
  readonly tracing?: Tracing | undefined;
  /** At least the maximum concurrencies of the queues that feed it, added up. */
  readonly reservedConcurrency?: number | undefined;
}

export interface Network {
  readonly vpc: IVpc;
  readonly vpcSubnets?: SubnetSelection;
  readonly securityGroups: ISecurityGroup[];
}

/** Of every function. */
export const memoryMb = 512;

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
  readonly timeoutMs: number;
  /** Invocations that its queues may ask for at once. */
  private fedMax = 0;

  constructor(scope: Construct, id: string, props: LiveFunctionProps) {
    super(scope, id);
    const { code, description, environment, removalPolicy, network } = props;
    const { recursiveLoop = RecursiveLoop.TERMINATE, reservedConcurrency, tracing } = props;

    const logGroup = new LogGroup(this, "Logs", { retention: props.logRetention, removalPolicy });
    // A role of our own: the one CDK makes carries AWS's managed policy, which may log anywhere.
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.allow(["logs:CreateLogStream", "logs:PutLogEvents"], logGroup.logGroupArn);
    if (network !== undefined) this.allowNetwork();

    this.timeoutMs = props.timeoutMs;
    this.function = new Function(this, "Function", {
      description,
      code,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMb,
      timeout: Duration.millis(props.timeoutMs),
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      environment,
      recursiveLoop,
      // A version that was good must be there when the alias is to go back to it.
      currentVersionOptions: { removalPolicy },
      ...(tracing === undefined ? {} : { tracing }),
      ...network,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: reservedConcurrency }),
    });
    if (tracing === Tracing.ACTIVE)
      Validations.of(this.role).acknowledge({
        id: "AwsSolutions-IAM5[Resource::*]",
        reason: "X-Ray takes segments, and telemetry of them, by no resource.",
      });
    this.alias = this.function.addAlias("live");
    this.node.addValidation({ validate: () => tooFewReserved(reservedConcurrency, this.fedMax) });
  }

  allow(actions: string[], ...resources: string[]): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ effect: Effect.ALLOW, actions, resources }));
  }

  /** Maps a queue to the function, which answers for each message by itself. */
  feedFrom(queue: IQueue, mapping: Mapping & { readonly windowS?: number }, id = "Mapping"): void {
    const { windowS = 0 } = mapping;
    this.fedMax += mapping.concurrencyMax;
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

  /** Lambda makes the network interfaces with the function's role. https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html */
  private allowNetwork(): void {
    const interfaces = ["CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface"];
    const others = ["DescribeSubnets", "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"];
    this.allow(
      [...interfaces, ...others].map((action) => `ec2:${action}`),
      "*",
    );
    Validations.of(this.role).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "Interfaces have no name before Lambda makes them, and describing knows no resource.",
    });
  }
}

/** What Lambda throttles counts as received, and ends with the dead letters though nothing ever ran it. */
function tooFewReserved(reserved: number | undefined, fedMax: number): string[] {
  if (reserved === undefined || reserved >= Math.max(1, fedMax)) return [];
  return [
    `reservedConcurrency ${reserved} is less than the ${Math.max(1, fedMax)} invocations that may come at once; reserve as many, or lower the limits of the config`,
  ];
}
