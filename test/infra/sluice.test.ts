import { AttributeType, ProjectionType, Table, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { TableProps } from "aws-cdk-lib/aws-dynamodb";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { Key } from "aws-cdk-lib/aws-kms";
import { RecursiveLoop, Tracing } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { Stack } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { Sluice } from "../../infra/sluice.ts";
import type { SluiceProps } from "../../infra/sluice-props.ts";
import { deadLettersConcurrencyMax } from "../../lib/core/limits.ts";
import { rightsOf } from "./one-function.ts";
import { Template, config, findings, smallEntry, stack } from "./synth.ts";

const within = (theirs: Stack, props: Partial<SluiceProps> = {}) =>
  new Sluice(theirs, "Llm", { config: config(), entryOf: smallEntry, ...props });

const only = (built: Template, type: string) =>
  Object.values(built.findResources(type)).map(({ Properties }) => Properties);

describe("a key of one's own", () => {
  const theirs = stack();
  const key = new Key(theirs, "Key", { enableKeyRotation: true });
  within(theirs, { key });
  const built = Template.fromStack(theirs);
  const arn = { "Fn::GetAtt": [expect.stringMatching(/^Key/), "Arn"] };

  test("encrypts all queues", () => {
    expect(only(built, "AWS::SQS::Queue")).toHaveLength(8);
    for (const queue of only(built, "AWS::SQS::Queue")) expect(queue.KmsMasterKeyId).toEqual(arn);
  });
  test("encrypts both tables", () =>
    expect(only(built, "AWS::DynamoDB::Table").map(({ SSESpecification }) => SSESpecification)).toEqual(
      Array.from({ length: 2 }, () => ({ SSEEnabled: true, SSEType: "KMS", KMSMasterKeyId: arn })),
    ));
  test("encrypts the bucket, and is not asked for each object", () =>
    expect(only(built, "AWS::S3::Bucket")[0].BucketEncryption.ServerSideEncryptionConfiguration).toEqual([
      {
        BucketKeyEnabled: true,
        ServerSideEncryptionByDefault: { SSEAlgorithm: "aws:kms", KMSMasterKeyID: arn },
      },
    ]));

  const tableRights =
    "Decrypt GenerateDataKey DescribeKey Encrypt GenerateDataKeyWithoutPlaintext ReEncryptFrom ReEncryptTo".split(" ");
  test.each(["RtWorker", "BgWorker", "BulkWorker", "ReplyStore", "DeadLetters", "Sweeper", "Widget"])(
    "may be used by %s for tables, queues and objects, by name and nowhere else",
    (name) => {
      const policy = Object.entries(built.findResources("AWS::IAM::Policy")).find(([id]) =>
        id.startsWith(`Llm${name}RoleDefault`),
      );
      if (policy === undefined) throw new Error(`no policy of ${name}`);
      const rights = rightsOf({ id: policy[0], properties: policy[1]["Properties"] });
      const ofKeys = rights.filter((right) => right.includes("Decrypt"));
      expect(ofKeys.every((right) => right.endsWith('{"Fn::GetAtt":["Key","Arn"]}'))).toBe(true);
      expect(new Set(ofKeys.flatMap((right) => right.split(":")[0]?.split(" ") ?? []))).toEqual(new Set(tableRights));
    },
  );
  test("leaves cdk-nag nothing to find", () => expect(findings(theirs)).toEqual([]));
});

describe("tables of one's own", () => {
  const string = (name: string) => ({ name, type: AttributeType.STRING });
  const jobs = { partitionKey: string("jobId"), timeToLiveAttribute: "ttl" };
  const leases = { partitionKey: string("pk"), timeToLiveAttribute: "ttl" };
  const sweep = {
    indexName: "sweep",
    partitionKey: string("sweepShard"),
    sortKey: { name: "sweepAtMs", type: AttributeType.NUMBER },
    projectionType: ProjectionType.KEYS_ONLY,
  };
  const jobTable = (theirs: Stack, props: TableProps = jobs) => {
    const table = new Table(theirs, "Jobs", props);
    table.addGlobalSecondaryIndex(sweep);
    return table;
  };

  test("serve, and none is made beside them", () => {
    const theirs = stack();
    const tables = { jobs: jobTable(theirs), leases: new TableV2(theirs, "Leases", leases) };
    const llm = within(theirs, { tables });
    expect([llm.jobTable.table, llm.leaseTable.table]).toEqual([tables.jobs, tables.leases]);
    const built = Template.fromStack(theirs);
    built.resourceCountIs("AWS::DynamoDB::Table", 1);
    built.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
  });

  test("under a key of their own are read and written by the workers, and read by the widget", () => {
    const theirs = stack();
    const encryptionKey = new Key(theirs, "Key");
    within(theirs, { tables: { leases: new Table(theirs, "Leases", { ...leases, encryptionKey }) } });
    const using = Object.entries(Template.fromStack(theirs).findResources("AWS::IAM::Policy")).filter(([, policy]) =>
      JSON.stringify(policy).includes("kms:ReEncryptTo"),
    );
    expect(using.map(([id]) => id.replace(/RoleDefaultPolicy\w+$/, ""))).toEqual([
      "LlmRtWorker",
      "LlmBgWorker",
      "LlmBulkWorker",
      "LlmWidget",
    ]);
  });

  test("imported are taken as they are", () => {
    const theirs = stack();
    const imported = Table.fromTableName(theirs, "Jobs", "their-jobs");
    expect(within(theirs, { tables: { jobs: imported } }).jobTable.table).toBe(imported);
  });

  test.each<[says: string, tables: (theirs: Stack) => NonNullable<SluiceProps["tables"]>, remedy: string]>([
    [
      "jobs by another key",
      (theirs) => ({ jobs: jobTable(theirs, { ...jobs, partitionKey: string("id") }) }),
      "the table given for jobs has the key id; give one whose only key is jobId",
    ],
    [
      "jobs with a sort key",
      (theirs) => ({ jobs: jobTable(theirs, { ...jobs, sortKey: string("at") }) }),
      "has the key jobId, at; give one whose only key is jobId",
    ],
    [
      "jobs that stay for ever",
      (theirs) => ({ jobs: jobTable(theirs, { partitionKey: string("jobId") }) }),
      "set its timeToLiveAttribute to ttl",
    ],
    [
      "jobs that no sweeper finds",
      (theirs) => ({ jobs: new Table(theirs, "Jobs", jobs) }),
      "add one named sweep with the keys sweepShard, sweepAtMs",
    ],
    [
      "leases by the key of jobs, in a global table too",
      (theirs) => ({ leases: new TableV2(theirs, "Leases", jobs) }),
      "the table given for leases has the key jobId; give one whose only key is pk",
    ],
  ])("%s are refused, with the remedy", (_says, tables, remedy) => {
    const theirs = stack();
    expect(() => within(theirs, { tables: tables(theirs) })).toThrow(remedy);
  });
});

describe("a VPC", () => {
  const theirs = stack();
  const placed = { vpcId: "vpc-1", availabilityZones: ["a", "b"], privateSubnetIds: ["subnet-1", "subnet-2"] };
  within(theirs, { vpc: Vpc.fromVpcAttributes(theirs, "Vpc", placed) });
  const built = Template.fromStack(theirs);

  test("has all seven functions, under one security group that lets nothing in", () => {
    const functions = only(built, "AWS::Lambda::Function").filter(({ Description }) =>
      String(Description).startsWith("Sluice:"),
    );
    expect(functions).toHaveLength(7);
    for (const { VpcConfig } of functions) {
      expect(VpcConfig.SecurityGroupIds).toEqual([
        { "Fn::GetAtt": [expect.stringMatching(/^LlmSecurity/), "GroupId"] },
      ]);
      expect(VpcConfig.SubnetIds).toEqual(placed.privateSubnetIds);
    }
    const groups = only(built, "AWS::EC2::SecurityGroup");
    expect(groups).toHaveLength(1);
    expect(groups[0]).not.toHaveProperty("SecurityGroupIngress");
  });
  test("lets each of them make its interfaces", () =>
    expect(JSON.stringify(built).match(/ec2:CreateNetworkInterface/g)).toHaveLength(7));
  test("leaves cdk-nag nothing to find", () => expect(findings(theirs)).toEqual([]));
});

describe("reserved concurrency", () => {
  const synth = (reservedConcurrency: NonNullable<SluiceProps["reservedConcurrency"]>) => {
    const theirs = stack();
    within(theirs, { reservedConcurrency });
    return Template.fromStack(theirs);
  };
  test("is what was asked for", () => {
    const functions = only(synth({ rt: 72, "dead-letters": 99, sweeper: 1 }), "AWS::Lambda::Function");
    const reserved = functions.map(({ ReservedConcurrentExecutions }) => ReservedConcurrentExecutions);
    expect(reserved).toEqual([72, undefined, undefined, undefined, 99, 1, undefined]);
  });
  test.each([
    ["a lane's mapping", { rt: 71 }, "reservedConcurrency 71 is less than the 72 invocations"],
    [
      "the mappings of all dead letters together",
      { "dead-letters": 2 * deadLettersConcurrencyMax },
      `less than the ${3 * deadLettersConcurrencyMax} invocations`,
    ],
    ["a schedule", { sweeper: 0 }, "reservedConcurrency 0 is less than the 1 invocations"],
  ])("below what %s invokes is refused, with the numbers", (_says, reserved, remedy) =>
    expect(() => synth(reserved)).toThrow(remedy),
  );
});

describe("a loop of jobs that submit jobs", () => {
  const loops = (props: Partial<SluiceProps>) => {
    const theirs = stack();
    within(theirs, props);
    return only(Template.fromStack(theirs), "AWS::Lambda::Function").map(({ RecursiveLoop: loop }) => loop);
  };
  test("is cut by Lambda", () => expect(new Set(loops({}))).toEqual(new Set(["Terminate"])));
  test("goes on where it is meant to", () =>
    expect(new Set(loops({ recursiveLoop: RecursiveLoop.ALLOW }))).toEqual(new Set(["Allow"])));
});

test("the topic of the alarms is known to whoever makes them", () => {
  const theirs = stack();
  const alarmTopic = new Topic(theirs, "Alarms");
  expect(within(theirs, { alarmTopic }).alarmTopic).toBe(alarmTopic);
});

test("traces are X-Ray's on request: each function may send them, and nothing else is new", () => {
  const theirs = stack();
  within(theirs, { tracing: Tracing.ACTIVE });
  const built = Template.fromStack(theirs);
  for (const { TracingConfig } of only(built, "AWS::Lambda::Function"))
    expect(TracingConfig).toEqual({ Mode: "Active" });
  const policies = Object.entries(built.findResources("AWS::IAM::Policy"));
  const rights = policies.flatMap(([id, { Properties: properties }]) => rightsOf({ id, properties }));
  expect(rights.filter((right) => right.endsWith(': "*"'))).toEqual(
    Array.from({ length: 7 }, () => 'PutTelemetryRecords PutTraceSegments: "*"'),
  );
  expect(findings(theirs)).toEqual([]);
});
