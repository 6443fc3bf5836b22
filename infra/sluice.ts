import { extname, join } from "node:path";
import { Aws, RemovalPolicy, Stage } from "aws-cdk-lib";
import { SecurityGroup } from "aws-cdk-lib/aws-ec2";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Grant, IGrantable, IRole } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Code } from "aws-cdk-lib/aws-lambda";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { checkConfig } from "../lib/config.ts";
import type { Config } from "../lib/core/config.ts";
import { byLane, lanes } from "../lib/core/lane.ts";
import type { Lane } from "../lib/core/lane.ts";
import { outputsPrefix, paramsPrefix } from "../lib/core/limits.ts";
import { sweepIndex } from "../lib/core/sweep.ts";
import { acknowledgeKeys } from "./acknowledge.ts";
import { ServiceAlarms } from "./alarms.ts";
import { allowAnnouncing, announcedQueues } from "./announcement-access.ts";
import { bundleFunction } from "./bundle.ts";
import { laneMapping } from "./concurrency.ts";
import { ServiceDashboard } from "./dashboard.ts";
import { DeadLettersFunction } from "./dead-letters-function.ts";
import type { DeadLettersFunctionProps } from "./dead-letters-function.ts";
import { grantSendingKey, grantTableKeys } from "./encryption.ts";
import { allowFeed, roleOfSchedules } from "./feeds.ts";
import type { Feed, FeedOptions } from "./feeds.ts";
import { grantCallNow, grantCancel, grantForget, grantReadReplies, grantSubmit } from "./grants.ts";
import { JobQueue, ParkedQueue, RepliesQueue, refuseShared } from "./job-queue.ts";
import { JobTable } from "./job-table.ts";
import { LeaseTable } from "./lease-table.ts";
import { modelStatements } from "./model-access.ts";
import type { LiveFunction, Network } from "./live-function.ts";
import { RepliesBucket } from "./replies-bucket.ts";
import { ReplyStoreFunction } from "./reply-store-function.ts";
import { Rollout } from "./rollout.ts";
import type { RolledOut } from "./rollout.ts";
import type { FunctionName, SluiceProps } from "./sluice-props.ts";
import { SweeperFunction } from "./sweeper-function.ts";
import { tellAtSynth } from "./told-at-synth.ts";
import { WidgetFunction } from "./widget-function.ts";
import { WorkerFunction } from "./worker-function.ts";

/** Jobs come by the lanes' queues, run under shared leases, and end in exactly one reply each. */
export class Sluice extends Construct {
  readonly config: Config;
  readonly jobQueues: Readonly<Record<Lane, JobQueue>>;
  readonly parked: ParkedQueue;
  readonly repliesQueue: RepliesQueue;
  readonly jobTable: JobTable;
  readonly leaseTable: LeaseTable;
  readonly replies: RepliesBucket;
  readonly workers: Readonly<Record<Lane, WorkerFunction>>;
  readonly replyStore: ReplyStoreFunction;
  readonly deadLetters: DeadLettersFunction;
  readonly sweeper: SweeperFunction;
  readonly widget: WidgetFunction | undefined;
  /** Where alarms go. */
  readonly alarmTopic: ITopic | undefined;
  readonly alarms: ServiceAlarms | undefined;
  readonly dashboard: ServiceDashboard | undefined;
  /** Of the workers' new versions, unless they take over at once. */
  readonly rollout: Rollout | undefined;
  /** Of our queues, tables and bucket, if it was given. */
  readonly key: IKey | undefined;

  /** @throws ConfigError for a config or a queue that cannot work, with the remedy. */
  constructor(scope: Construct, id: string, props: SluiceProps) {
    super(scope, id);
    const { queues = {}, tables = {}, reservedConcurrency: reserved = {}, key } = props;
    const { removalPolicy = RemovalPolicy.RETAIN, logRetention = RetentionDays.ONE_MONTH, recursiveLoop } = props;
    this.key = key;
    this.config = checkConfig(props.config);
    tellAtSynth(this, this.config);
    const { ttlDays } = this.config.replies;

    refuseShared(queues);
    this.jobQueues = byLane((lane) => new JobQueue(this, idOf(lane, "Queue"), { lane, key, given: queues[lane] }));
    this.parked = new ParkedQueue(this, "Parked", key);
    this.repliesQueue = new RepliesQueue(this, "RepliesQueue", key);
    this.jobTable = new JobTable(this, "JobTable", { removalPolicy, key, given: tables.jobs });
    this.leaseTable = new LeaseTable(this, "LeaseTable", { removalPolicy, key, given: tables.leases });
    this.replies = new RepliesBucket(this, "Replies", { ttlDays, removalPolicy, key });

    const entryOf = (name: FunctionName) =>
      props.entryOf?.(name) ?? join(import.meta.dirname, `../functions/${name}${extname(import.meta.filename)}`);
    const codeOf = (name: FunctionName) => Code.fromAsset(this.bundle(name, entryOf(name)));
    const environment = {
      SLUICE_JOB_TABLE: this.jobTable.table.tableName,
      SLUICE_PARKED_QUEUE_URL: this.parked.queue.queueUrl,
      SLUICE_BUCKET: this.replies.bucket.bucketName,
    };
    const { tracing } = props;
    const common = { environment, logRetention, removalPolicy, recursiveLoop, tracing, network: this.networkOf(props) };
    const workerCommon = {
      ...common,
      code: codeOf("worker"),
      environment: {
        ...environment,
        SLUICE_LEASE_TABLE: this.leaseTable.table.tableName,
        SLUICE_REPLIES_QUEUE_URL: this.repliesQueue.queue.queueUrl,
      },
    };
    this.workers = byLane((lane) => {
      const { queue } = this.jobQueues[lane];
      const mapping = laneMapping(this.config, lane);
      const reservedConcurrency = reserved[lane];
      return new WorkerFunction(this, idOf(lane, "Worker"), {
        ...workerCommon,
        lane,
        queue,
        mapping,
        reservedConcurrency,
      });
    });
    for (const lane of lanes) this.grant(this.workers[lane]);
    this.replyStore = new ReplyStoreFunction(this, "ReplyStore", {
      ...common,
      code: codeOf("reply-store"),
      reservedConcurrency: reserved["reply-store"],
      queue: this.repliesQueue.queue,
    });
    this.grantStoring(this.replyStore);
    this.deadLetters = new DeadLettersFunction(this, "DeadLetters", {
      ...workerCommon,
      code: codeOf("dead-letters"),
      reservedConcurrency: reserved["dead-letters"],
      queues: this.deadLetterQueues(),
    });
    this.grantEnding(this.deadLetters);
    this.sweeper = new SweeperFunction(this, "Sweeper", {
      ...common,
      code: codeOf("sweeper"),
      reservedConcurrency: reserved.sweeper,
      environment: { SLUICE_JOB_TABLE: this.jobTable.table.tableName },
    });
    this.grantSweeping(this.sweeper);

    const { alarms = true, dashboard = true, widget = dashboard, alarmTopic: topic } = props;
    if (widget) {
      this.widget = new WidgetFunction(this, "Widget", {
        ...common,
        watched: this,
        code: codeOf("widget"),
        reservedConcurrency: reserved.widget,
        actions: props.widgetActions ?? false,
      });
    }
    if (alarms) this.alarms = new ServiceAlarms(this, "Alarms", { watched: this, topic, key, removalPolicy });
    this.alarmTopic = this.alarms?.topic ?? topic;
    if (this.alarms !== undefined && props.rollout !== false)
      this.rollout = new Rollout(this, "Rollout", { functions: this.rolledOut(this.alarms), config: props.rollout });
    if (dashboard) {
      const its = this.alarms?.alarms ?? [];
      this.dashboard = new ServiceDashboard(this, "Dashboard", { watched: this, alarms: its, widget: this.widget });
    }
  }

  /**
   * Lets a topic, a rule or a bucket send jobs to a lane's queue, or whoever sends by a role: a pipe's, an API's, a state
   * machine. The subscription, target or notification itself is the sender's. For a schedule group: the role that its
   * schedules must name.
   * @throws ConfigError for a bucket that the config does not let workers read.
   */
  allowFeed(feed: IScheduleGroup, options?: FeedOptions): IRole;
  allowFeed(feed: Feed, options?: FeedOptions): void;
  allowFeed(feed: Feed | IScheduleGroup, options: FeedOptions = {}): IRole | void {
    return "scheduleGroupArn" in feed ? roleOfSchedules(this, feed, options) : allowFeed(this, feed, options);
  }

  /** Lets somebody use the client's `submit` and `submitBatch`. */
  grantSubmit(grantee: IGrantable): Grant {
    return grantSubmit(this, grantee);
  }

  /** Lets somebody use the client's `waitForReply` and `replies`, and get an output that lies in the bucket. */
  grantReadReplies(grantee: IGrantable): Grant {
    return grantReadReplies(this, grantee);
  }

  /** Lets somebody use the client's `cancel`. */
  grantCancel(grantee: IGrantable): Grant {
    return grantCancel(this, grantee);
  }

  /** Lets somebody use the client's `forget`. */
  grantForget(grantee: IGrantable): Grant {
    return grantForget(this, grantee);
  }

  /** Lets somebody use `callNow`. */
  grantCallNow(grantee: IGrantable): Grant {
    return grantCallNow(this, grantee);
  }

  private networkOf({ vpc, vpcSubnets, securityGroups }: SluiceProps): Network | undefined {
    if (vpc === undefined) return undefined;
    const description = "Sluice: its functions, which nothing calls over the network";
    return {
      vpc,
      ...(vpcSubnets === undefined ? {} : { vpcSubnets }),
      securityGroups: securityGroups ?? [new SecurityGroup(this, "SecurityGroup", { vpc, description })],
    };
  }

  /** The other functions have too few invocations for a tenth of them to prove anything; they go back with the stack. */
  private rolledOut(alarms: ServiceAlarms): readonly RolledOut[] {
    return lanes.map((lane) => ({
      function: this.workers[lane],
      alarms: [alarms.find("FunctionErrors", lane), alarms.find("UnexpectedErrors", lane)],
    }));
  }

  /** Those of our own; a given queue's belongs to its owner. */
  private deadLetterQueues(): DeadLettersFunctionProps["queues"] {
    const own = lanes.map((lane) => [lane, this.jobQueues[lane].deadLetters] as const);
    return Object.fromEntries(own.filter(([, queue]) => queue !== undefined));
  }

  private bundle(name: string, entry: string): string {
    const outdir = Stage.of(this)?.outdir ?? "cdk.out";
    return bundleFunction(entry, JSON.stringify(this.config), join(outdir, `bundle-${this.node.addr}-${name}`));
  }

  /** What a worker may do, besides receiving its lane's messages and logging. */
  private grant(worker: WorkerFunction): void {
    const { role } = worker;
    // The table's own grants would name its index too, which is the sweeper's alone.
    const tables = [this.jobTable.table, this.leaseTable.table];
    const tableArns = tables.map(({ tableArn }) => tableArn);
    worker.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], ...tableArns);
    worker.allow(["dynamodb:BatchGetItem"], this.leaseTable.table.tableArn);
    grantTableKeys(role, ...tables);
    worker.allow(
      ["sqs:SendMessage"],
      this.parked.queue.queueArn,
      this.repliesQueue.queue.queueArn,
      ...announcedQueues(this.config),
    );
    for (const statement of modelStatements(this, this.config)) role.addToPrincipalPolicy(statement);

    const { bucket, bucketId } = this.replies;
    worker.allow(["s3:PutObject"], bucket.arnForObjects(`${outputsPrefix}*`));
    acknowledgeKeys(worker.role, `<${bucketId}.Arn>/${outputsPrefix}*`);
    this.grantReading(worker);
    allowAnnouncing(worker, this.config, { beating: true });
  }

  /** Params, and envelopes where a message only points to them. */
  private grantReading(fn: LiveFunction): void {
    grantSendingKey(fn.role, this.key);
    const { bucket, bucketId } = this.replies;
    const { buckets: asked, keys = [] } = this.config.paramsRef;
    const arns = asked.map((name) => `arn:${Aws.PARTITION}:s3:::${name}`);
    fn.allow(["s3:GetObject"], bucket.arnForObjects(`${paramsPrefix}*`), ...arns.map((arn) => `${arn}/*`));
    // Without ListBucket S3 answers a missing key with AccessDenied, which would look like trouble of ours, for ever.
    fn.role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["s3:ListBucket"],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { "s3:prefix": `${paramsPrefix}*` } },
      }),
    );
    if (arns.length > 0) fn.allow(["s3:ListBucket"], ...arns);
    // S3 decrypts for whoever gets, by his own right, which is good for nothing else.
    for (const key of keys)
      fn.role.addToPrincipalPolicy(
        new PolicyStatement({
          actions: ["kms:Decrypt"],
          resources: [key],
          conditions: { StringEquals: { "kms:ViaService": `s3.${key.split(":")[3] ?? ""}.${Aws.URL_SUFFIX}` } },
        }),
      );
    const theirs = asked.map((name) => `arn:<AWS::Partition>:s3:::${name}/*`);
    acknowledgeKeys(fn.role, `<${bucketId}.Arn>/${paramsPrefix}*`, ...theirs);
  }

  /** What the reply-store may do, besides receiving from the replies queue and logging. */
  private grantStoring(store: ReplyStoreFunction): void {
    const { bucket, bucketId } = this.replies;
    store.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], this.jobTable.table.tableArn);
    grantTableKeys(store.role, this.jobTable.table);
    grantSendingKey(store.role, this.key);
    store.allow(["sqs:SendMessage"], this.parked.queue.queueArn, ...announcedQueues(this.config));
    store.allow(["s3:PutObject"], bucket.arnForObjects(`${outputsPrefix}*`));
    acknowledgeKeys(store.role, `<${bucketId}.Arn>/${outputsPrefix}*`);
    allowAnnouncing(store, this.config, { beating: false });
  }

  /** What the worker of the dead letters may do: it asks no model, and its replies hold no output. */
  private grantEnding(fn: DeadLettersFunction): void {
    fn.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], this.jobTable.table.tableArn);
    grantTableKeys(fn.role, this.jobTable.table);
    const told = announcedQueues(this.config);
    fn.allow(["sqs:SendMessage"], this.parked.queue.queueArn, this.repliesQueue.queue.queueArn, ...told);
    this.grantReading(fn);
    allowAnnouncing(fn, this.config, { beating: false });
  }

  private grantSweeping(sweeper: SweeperFunction): void {
    const { tableArn } = this.jobTable.table;
    grantTableKeys(sweeper.role, this.jobTable.table);
    sweeper.allow(["dynamodb:Query"], `${tableArn}/index/${sweepIndex.name}`);
    sweeper.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], tableArn);
    const told = announcedQueues(this.config);
    if (told.length > 0) sweeper.allow(["sqs:SendMessage"], ...told);
    allowAnnouncing(sweeper, this.config, { beating: false });
  }
}

function idOf(lane: Lane, noun: string): string {
  return `${lane.charAt(0).toUpperCase()}${lane.slice(1)}${noun}`;
}
