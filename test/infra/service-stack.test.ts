import { Bucket } from "aws-cdk-lib/aws-s3";
import { describe, expect, test } from "vitest";
import { configHashOf } from "../../lib/config-hash.ts";
import { checkConfig, ConfigError } from "../../lib/config.ts";
import { lanes } from "../../lib/core/lane.ts";
import { laneLimits, paramsTtlDays, queueVisibilityS, sqsRetentionS } from "../../lib/core/limits.ts";
import { config, findings, service, target, template } from "./synth.ts";

const built = template();
const other = template({
  models: {
    big: {
      targets: { here: target({ modelId: "amazon.nova-pro-v1:0", region: "eu-west-1", limit: { start: 1, max: 1 } }) },
    },
  },
  paramsRef: { buckets: ["in-box"] },
});

const only = (type: string, from = built) => Object.values(from.findResources(type));

describe("the tables", () => {
  test("are keyed by jobId and by pk", () =>
    expect(only("AWS::DynamoDB::Table").map(({ Properties }) => Properties.KeySchema)).toEqual([
      [{ AttributeName: "jobId", KeyType: "HASH" }],
      [{ AttributeName: "pk", KeyType: "HASH" }],
    ]));

  test.each(Object.entries(built.findResources("AWS::DynamoDB::Table")))(
    "%s is paid by request, encrypted, restorable, rid of old rows, and outlives the stack",
    (_id, table) =>
      expect(table).toMatchObject({
        DeletionPolicy: "Retain",
        UpdateReplacePolicy: "Retain",
        Properties: {
          BillingMode: "PAY_PER_REQUEST",
          SSESpecification: { SSEEnabled: true },
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
          DeletionProtectionEnabled: true,
        },
      }),
  );
});

test("a table that was restored takes the place of one of ours, by its name", () => {
  const restored = template({}, { jobTable: "sluice-jobs" });
  expect(only("AWS::DynamoDB::Table", restored)).toMatchObject([
    { Properties: { KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }] } },
  ]);
  expect(restored.toJSON()["Outputs"].jobTableName.Value).toBe("sluice-jobs");
  for (const { Properties } of only("AWS::Lambda::Function", restored))
    expect(Properties.Environment.Variables.SLUICE_JOB_TABLE).toBe("sluice-jobs");
  const leases = template({}, { leaseTable: "sluice-leases" });
  expect(leases.toJSON()["Outputs"].leaseTableName.Value).toBe("sluice-leases");
});

describe("the replies bucket", () => {
  const [bucket] = only("AWS::S3::Bucket");

  test("is encrypted, closed to the public, without old versions, and outlives the stack", () => {
    expect(bucket).toMatchObject({
      DeletionPolicy: "Retain",
      Properties: {
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
        },
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
      },
    });
    expect(bucket?.["Properties"]).not.toHaveProperty("VersioningConfiguration");
  });

  test("is for TLS only", () =>
    expect(only("AWS::S3::BucketPolicy")[0]?.["Properties"].PolicyDocument.Statement).toMatchObject([
      { Effect: "Deny", Action: "s3:*", Condition: { Bool: { "aws:SecureTransport": "false" } } },
    ]));

  test("keeps an output as long as its reply, and params for longer", () => {
    const [kept] = only("AWS::S3::Bucket", template({ replies: { ttlDays: 2 } }));
    expect(kept?.["Properties"].LifecycleConfiguration.Rules).toMatchObject([
      { Prefix: "outputs/", ExpirationInDays: 2, Status: "Enabled" },
      { Prefix: "params/", ExpirationInDays: 29, Status: "Enabled" },
      { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: "Enabled" },
    ]);
  });

  test.each(lanes)("keeps the params of a job in %s until it could have been parked and nobody ran it again", (lane) =>
    // Where no worker ever starts, its receives are what it has.
    expect(paramsTtlDays * 86_400).toBeGreaterThanOrEqual(
      laneLimits[lane].receivesMax * queueVisibilityS(lane) + sqsRetentionS,
    ),
  );
});

describe("the stack", () => {
  test("goes wholly, once it is made removable", () => {
    for (const removable of [true, "true"]) {
      const resources = Object.values<{ DeletionPolicy?: string }>(template({}, { removable }).toJSON()["Resources"]);
      expect(resources.filter(({ DeletionPolicy }) => DeletionPolicy === "Retain")).toEqual([]);
      expect(JSON.stringify(resources)).toContain('"DeletionProtectionEnabled":false');
    }
  });

  test.each([
    ["removable", "yes", "true or false"],
    ["removable", "TRUE", "true or false"],
    ["rollout", "None", "none"],
    ["rollout", "toString", "none"],
  ])("is not made where the context %s is %s", (context, word, known) =>
    expect(() => template({}, { [context]: word })).toThrow(
      new ConfigError(`Sluice: the context ${context} is ${word}; give ${known}, or leave it out`),
    ),
  );

  test("is kept where somebody says that it is not removable", () =>
    expect(template({}, { removable: "false" }).toJSON()).toEqual(built.toJSON()));

  test.each(["AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::QueuePolicy"])(
    "keeps every %s as it is when models and limits change",
    (type) => expect(other.findResources(type)).toEqual(built.findResources(type)),
  );

  test("keeps every logical id whatever the config says", () => {
    const ids = (from: typeof built) => Object.keys(from.toJSON()["Resources"]).filter((id) => !/Version/.test(id));
    expect(ids(other)).toEqual(ids(built));
  });

  test("tells where to send and where to look", () =>
    expect(Object.keys(built.findOutputs("*"))).toEqual([
      "rtQueueUrl",
      "rtQueueArn",
      "bgQueueUrl",
      "bgQueueArn",
      "bulkQueueUrl",
      "bulkQueueArn",
      "parkedQueueUrl",
      "parkedQueueArn",
      "repliesQueueUrl",
      "repliesQueueArn",
      "jobTableName",
      "leaseTableName",
      "repliesBucketName",
      "configHash",
      "replyTtlDays",
      "dashboardUrl",
      "alarmTopicArn",
    ]));

  test("tells its config by its hash", () => {
    const told = (from: typeof built) => from.findOutputs("configHash")["configHash"];
    expect(told(built)).toEqual({ Value: configHashOf(checkConfig(config())) });
    expect(told(other)).not.toEqual(told(built));
    expect(told(template({ replies: { ttlDays: 30 } }))).not.toEqual(told(built));
  });

  test("is the same from one synthesis to the next, code included", () =>
    expect(template().toJSON()).toEqual(built.toJSON()));
});

describe("cdk-nag", () => {
  test("finds nothing", () => {
    const here = target({ contextWindow: 300_000, countTokens: true });
    const models = { "fast-text": { targets: { here } } };
    expect(findings(service({ models, paramsRef: { buckets: ["in-box"] } }))).toEqual([]);
  });
  test("would find a bucket that anybody may read without TLS", () => {
    const stack = service();
    expect(new Bucket(stack, "Careless").node.id).toBe("Careless");
    expect(findings(stack)).toEqual(["AwsSolutions-S1", "AwsSolutions-S10"]);
  });
});
