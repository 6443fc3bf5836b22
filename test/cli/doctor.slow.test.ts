import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CreateTableCommand, DeleteTableCommand, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  SetQueueAttributesCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startDynamo, startFauxqs } from "../../infra/local/engines.ts";
import type { Engine } from "../../infra/local/engines.ts";
import { dynamoClient, sqsClient } from "../../lib/aws/clients.ts";
import { quotaFindings } from "../../lib/cli/check-models.ts";
import type { Finding } from "../../lib/cli/finding.ts";
import { configHashOf } from "../../lib/config-hash.ts";
import { checkConfig } from "../../lib/config.ts";
import { laneLimits, queueVisibilityS } from "../../lib/core/limits.ts";
import { lanes } from "../../lib/core/lane.ts";
import { sweepIndex } from "../../lib/core/sweep.ts";
import { temporaryFolder } from "../temporary.ts";
import { run } from "./service.ts";
import { mapping, refused, startStandIn } from "./stand-in.ts";
import type { Instead, Said, StandIn } from "./stand-in.ts";

const folder = temporaryFolder("doctor");
const credentials = { accessKeyId: "local", secretAccessKey: "local" };
const region = "us-west-2";
const target = {
  modelId: "us.amazon.nova-lite-v1:0",
  region,
  limit: { start: 20, max: 30 },
  maxTokens: 4_096,
  typicalMs: 3_000,
};
const config = { models: { "fast-text": { targets: { west: target } } } };
const configFile = join(folder, "config.json");
writeFileSync(configFile, JSON.stringify(config));

let [dynamoEngine, sqsEngine]: (Engine | undefined)[] = [];
let standIn: StandIn;
let values: Record<string, string>;
let env: NodeJS.ProcessEnv;

const dynamo = () => dynamoClient({ region, credentials, endpoint: dynamoEngine?.endpoint ?? "" });
const sqs = () => sqsClient({ region, credentials, endpoint: sqsEngine?.endpoint ?? "" });

const jobTable: CreateTableCommandInput = {
  TableName: "jobs",
  BillingMode: "PAY_PER_REQUEST",
  KeySchema: [{ AttributeName: "jobId", KeyType: "HASH" }],
  AttributeDefinitions: [
    { AttributeName: "jobId", AttributeType: "S" },
    { AttributeName: "sweepShard", AttributeType: "S" },
    { AttributeName: "sweepAtMs", AttributeType: "N" },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: sweepIndex.name,
      KeySchema: [
        { AttributeName: "sweepShard", KeyType: "HASH" },
        { AttributeName: "sweepAtMs", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  ],
};

beforeAll(async () => {
  [dynamoEngine, sqsEngine] = await Promise.all([startDynamo(), startFauxqs()]);
  standIn = await startStandIn();
  const elsewhere = ["CLOUDFORMATION", "LAMBDA", "BEDROCK", "KMS", "SERVICE_QUOTAS"];
  env = {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_ENDPOINT_URL_DYNAMODB: dynamoEngine.endpoint,
    AWS_ENDPOINT_URL_SQS: sqsEngine.endpoint,
    ...Object.fromEntries(elsewhere.map((service) => [`AWS_ENDPOINT_URL_${service}`, standIn.endpoint])),
  };
  await dynamo().send(new CreateTableCommand(jobTable));
  const leases = { AttributeName: "pk" };
  await dynamo().send(
    new CreateTableCommand({
      TableName: "leases",
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ ...leases, KeyType: "HASH" }],
      AttributeDefinitions: [{ ...leases, AttributeType: "S" }],
    }),
  );
  await enableTtl();
}, 60_000);

afterAll(async () => {
  await Promise.all([dynamoEngine?.stop(), sqsEngine?.stop(), standIn.stop()]);
});

async function enableTtl(): Promise<void> {
  const TimeToLiveSpecification = { AttributeName: "ttl", Enabled: true };
  await dynamo().send(new UpdateTimeToLiveCommand({ TableName: "jobs", TimeToLiveSpecification }));
}

async function queue(name: string, Attributes: Record<string, string> = {}): Promise<void> {
  const { QueueUrl = "" } = await sqs().send(new CreateQueueCommand({ QueueName: name, Attributes }));
  const { Attributes: seen } = await sqs().send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }),
  );
  values[`${name}QueueUrl`] = QueueUrl;
  values[`${name}QueueArn`] = seen?.["QueueArn"] ?? "";
}

/** As the stack deploys them. */
beforeEach(async () => {
  standIn.instead = {};
  values = {
    jobTableName: "jobs",
    leaseTableName: "leases",
    repliesBucketName: "replies",
    configHash: configHashOf(checkConfig(config)),
  };
  await queue("dead");
  for (const lane of lanes) {
    const redrive = { deadLetterTargetArn: values["deadQueueArn"], maxReceiveCount: laneLimits[lane].receivesMax };
    await queue(lane, { VisibilityTimeout: String(queueVisibilityS(lane)), RedrivePolicy: JSON.stringify(redrive) });
  }
  await queue("parked");
  await queue("replies");
});

async function doctor(more: NodeJS.ProcessEnv = {}, ...args: readonly string[]) {
  const outputs = join(folder, "outputs.json");
  writeFileSync(outputs, JSON.stringify({ Sluice: values }));
  const where = args.includes("--stack") ? [] : ["--outputs", outputs];
  const ended = await run(["doctor", "--config", configFile, "--json", ...where, ...args], { ...env, ...more });
  const { findings }: { findings: readonly Finding[] } = JSON.parse(ended.stdout);
  return { ...ended, findings, problems: findings.filter(({ kind }) => kind === "problem") };
}

async function set(name: string, Attributes: Record<string, string>): Promise<void> {
  await sqs().send(new SetQueueAttributesCommand({ QueueUrl: values[`${name}QueueUrl`], Attributes }));
}

const xml = (inner: string) =>
  `<DescribeStacksResponse><DescribeStacksResult><Stacks><member>${inner}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
const stackOf = (outputs: Record<string, string>) =>
  xml(
    `<StackName>Mine</StackName><CreationTime>2026-11-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${Object.entries(
      outputs,
    )
      .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
      .join("")}</Outputs>`,
  );
const noStack =
  "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id Other does not exist</Message></Error></ErrorResponse>";

describe("npx sluice doctor", { timeout: 120_000 }, () => {
  test("finds nothing wrong with a deployment as it is made, and knows all of it", async () => {
    const { code, findings } = await doctor();
    expect(findings.filter(({ kind }) => kind !== "ok")).toEqual([]);
    expect(code).toBe(0);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        "deployment",
        "credentials",
        "clock",
        "config",
        "job table",
        "lease table",
        "queue rt",
        "function of rt",
        "fast-text@west",
        "quota of fast-text@west",
        "models",
      ]),
    );
  });

  const denied = refused(
    "AccessDeniedException",
    "User: arn:aws:iam::1:user/eve is not authorized to perform: it",
    403,
  );
  test.each<[says: string, instead: Instead, problem: Partial<Finding> & { readonly remedy: string }]>([
    [
      "no access to a model",
      { GetFoundationModelAvailability: { body: { authorizationStatus: "NOT_AUTHORIZED" } } },
      { check: "fast-text@west", remedy: "call it once in the console" },
    ],
    [
      "access that nobody asked for",
      {
        GetFoundationModelAvailability: {
          body: { authorizationStatus: "AUTHORIZED", agreementAvailability: { status: "NOT_AVAILABLE" } },
        },
      },
      { check: "fast-text@west", remedy: "call it once in the console" },
    ],
    [
      "an inference profile that is not there",
      { GetInferenceProfile: refused("ResourceNotFoundException", "no such profile", 404) },
      { check: "fast-text@west", remedy: "correct the target's modelId or region" },
    ],
    [
      "a limit above the quota",
      {
        ListServiceQuotas: {
          body: {
            Quotas: [
              { QuotaName: "Cross-region model inference requests per minute for Amazon Nova Lite", Value: 200 },
            ],
          },
        },
      },
      { check: "quota of fast-text@west", remedy: "set requestsPerMinute: 200" },
    ],
    [
      "an event source mapping that is disabled",
      { ListEventSourceMappings: { body: { EventSourceMappings: [{ ...mapping, State: "Disabled" }] } } },
      { check: "function of rt", remedy: `--uuid ${mapping.UUID} --enabled` },
    ],
    [
      "a queue that feeds no function",
      { ListEventSourceMappings: { body: { EventSourceMappings: [] } } },
      { check: "function of bg", remedy: "deploy the stack again" },
    ],
    [
      "a function whose update failed",
      { GetFunctionConfiguration: { body: { State: "Active", LastUpdateStatus: "Failed" } } },
      { check: "function of bulk", remedy: "StateReason" },
    ],
  ])("finds %s", async (_says, instead, { check, remedy }) => {
    standIn.instead = instead;
    const { code, problems } = await doctor();
    expect(problems).toContainEqual(expect.objectContaining({ check, remedy: expect.stringContaining(remedy) }));
    expect(code).toBe(1);
  });

  test("says what it may not see, which is no problem", async () => {
    standIn.instead = {
      ListEventSourceMappings: denied,
      GetFoundationModelAvailability: denied,
      ListServiceQuotas: denied,
    };
    const { code, findings } = await doctor();
    expect(code).toBe(0);
    for (const check of ["function of rt", "fast-text@west", "quota of fast-text@west"])
      expect(findings).toContainEqual(
        expect.objectContaining({ check, kind: "unknown", says: expect.stringContaining("is not authorized") }),
      );
  });

  test("finds a visibility that is too short, too few receives, and a queue that is missing", async () => {
    await set("rt", { VisibilityTimeout: "60" });
    await set("bg", {
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: values["deadQueueArn"], maxReceiveCount: 3 }),
    });
    await sqs().send(new DeleteQueueCommand({ QueueUrl: values["parkedQueueUrl"] }));
    const { problems } = await doctor();
    expect(problems.map(({ check, says }) => `${check}: ${says}`)).toEqual([
      `queue rt: its visibility is 60 s, below the ${queueVisibilityS("rt")} s that its function needs: messages come twice`,
      "queue bg: SQS gives messages up after 3 receives, not 200: patience looks like a fault",
      `queue parked: ${values["parkedQueueUrl"]} is not there`,
    ]);
    for (const lane of lanes) await sqs().send(new DeleteQueueCommand({ QueueUrl: values[`${lane}QueueUrl`] }));
  });

  test("finds a key that keeps a feed out, one that is off, and the one that AWS manages", async () => {
    const statement = {
      Effect: "Allow",
      Principal: { Service: "sns.amazonaws.com" },
      Action: "sqs:SendMessage",
      Resource: "*",
    };
    await set("rt", {
      KmsMasterKeyId: "arn:aws:kms:us-west-2:123456789012:key/key-1",
      Policy: JSON.stringify({ Version: "2012-10-17", Statement: [statement] }),
    });
    await set("bg", { KmsMasterKeyId: "alias/aws/sqs" });
    const policy = {
      Statement: [
        {
          Effect: "Allow",
          Principal: { Service: ["events.amazonaws.com"] },
          Action: ["kms:Decrypt", "kms:GenerateDataKey*"],
        },
      ],
    };
    standIn.instead = {
      GetKeyPolicy: { body: { Policy: JSON.stringify(policy) } },
      DescribeKey: { body: { KeyMetadata: { KeyId: "key-1", Enabled: false, KeyState: "Disabled" } } },
    };
    const said = (await doctor()).problems.map(({ check, says }) => `${check}: ${says}`);
    expect(said).toEqual([
      "queue rt, key: arn:aws:kms:us-west-2:123456789012:key/key-1 is Disabled: nothing can be sent or read",
      "queue rt, key: arn:aws:kms:us-west-2:123456789012:key/key-1 does not let sns.amazonaws.com in: what it sends is lost",
      "queue bg: it is under the key that AWS manages: what SNS, EventBridge and S3 send is lost",
    ]);
    for (const lane of lanes) await sqs().send(new DeleteQueueCommand({ QueueUrl: values[`${lane}QueueUrl`] }));
  });

  test("finds another config than the deployed one, and one that cannot be used", async () => {
    values["configHash"] = "0000000000000000";
    expect((await doctor()).problems).toEqual([
      expect.objectContaining({ check: "config", remedy: expect.stringContaining("or deploy") }),
    ]);
    const broken = join(folder, "broken.json");
    writeFileSync(broken, JSON.stringify({ models: { "fast-text": { targets: {} } } }));
    const { problems } = await doctor({}, "--config", broken);
    expect(problems).toEqual([
      expect.objectContaining({
        check: "config",
        says: expect.stringContaining("models.fast-text.targets: needs a target"),
      }),
    ]);
  });

  test("finds a model that operators have left without a target", async () => {
    const pause = ["fast-text@west", "--outputs", join(folder, "outputs.json"), "--config", configFile];
    await doctor();
    expect((await run(["pause", ...pause], env)).code).toBe(0);
    expect((await doctor()).problems).toEqual([
      expect.objectContaining({ check: "models", remedy: "npx sluice resume fast-text@west" }),
    ]);
    expect((await run(["resume", ...pause], env)).code).toBe(0);
  });

  test("finds that nobody is there: no credentials, no engine, no stack, another region", async () => {
    const nobody = {
      AWS_ACCESS_KEY_ID: "",
      AWS_SECRET_ACCESS_KEY: "",
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: folder,
    };
    expect((await doctor(nobody)).problems).toEqual([
      expect.objectContaining({ check: "credentials", says: "no AWS credentials were found" }),
    ]);
    expect((await doctor({ AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" })).problems).toEqual([
      expect.objectContaining({ check: "network", says: expect.stringContaining("nobody answers") }),
    ]);
    standIn.instead = { DescribeStacks: { status: 400, body: noStack } };
    expect((await doctor({}, "--stack", "Other")).problems).toEqual([
      expect.objectContaining({
        check: "deployment",
        says: expect.stringContaining("there is no stack Other in us-west-2"),
      }),
    ]);
    values["bgQueueUrl"] = "https://sqs.eu-west-1.amazonaws.com/123456789012/bg";
    expect((await doctor({}, "--region", region)).problems).toEqual([
      expect.objectContaining({
        check: "deployment",
        says: expect.stringContaining("is in eu-west-1, and --region says us-west-2"),
      }),
    ]);
  });

  test.each<[says: string, described: Said, check: string, told: string]>([
    ["credentials that have expired", refused("ExpiredTokenException", "expired"), "credentials", "have expired"],
    ["keys that AWS does not know", refused("UnrecognizedClientException", "invalid"), "credentials", "does not know"],
    ["a clock that is wrong", { body: {}, date: new Date(Date.now() - 600_000) }, "clock", "ahead of AWS's"],
  ])("finds %s", async (_says, described, check, told) => {
    standIn.instead = { DescribeTable: described };
    const { problems } = await doctor({ AWS_ENDPOINT_URL_DYNAMODB: standIn.endpoint });
    expect(problems).toContainEqual(expect.objectContaining({ check, says: expect.stringContaining(told) }));
  });

  test("finds the deployment by the outputs of its stack", async () => {
    standIn.instead = { DescribeStacks: { body: stackOf(values) } };
    const { code, findings } = await doctor({}, "--stack", "Mine");
    expect(findings[0]).toEqual({ check: "deployment", kind: "ok", says: "the stack Mine" });
    expect(code).toBe(0);
  });

  test("finds a job table without its index, its TTL or its own key, and one that is missing", async () => {
    await dynamo().send(new DeleteTableCommand({ TableName: "jobs" }));
    expect((await doctor()).problems).toContainEqual(
      expect.objectContaining({ check: "job table", says: "jobs is not there" }),
    );
    const { GlobalSecondaryIndexes: _index, ...bare } = jobTable;
    await dynamo().send(
      new CreateTableCommand({ ...bare, AttributeDefinitions: (jobTable.AttributeDefinitions ?? []).slice(0, 1) }),
    );
    const { problems } = await doctor();
    expect(problems.map(({ says }) => says)).toEqual([
      `the index ${sweepIndex.name} is not there, or not active: nothing is swept`,
      "no TTL on the attribute ttl: rows and replies stay for ever",
    ]);
    values["leaseTableName"] = "jobs";
    expect((await doctor()).problems).toContainEqual(
      expect.objectContaining({ check: "lease table", says: "jobs has the key jobId, not pk" }),
    );
  });
});

describe("a quota is found by its name in words", () => {
  const quota = (QuotaName: string, Value: number) => ({ QuotaName, Value });
  const quotas = [
    quota("On-demand model inference requests per minute for Amazon Nova Lite", 5),
    quota("Cross-region model inference requests per minute for Amazon Nova Lite", 2_000),
    quota("Cross-region model inference tokens per minute for Amazon Nova Lite", 400_000),
    quota("Cross-region model inference tokens per minute for Amazon Nova Lite 2", 1),
  ];
  test.each([
    ["what the config asks is within", {}, "ok"],
    ["more tokens than the account has", { tokensPerMinute: 400_001 }, "problem"],
    ["more requests than the account has", { requestsPerMinute: 2_001 }, "problem"],
    ["a limit that asks oftener", { limit: { start: 1, max: 101 } }, "problem"],
    [
      "a limit that asks oftener, held by requestsPerMinute",
      { limit: { start: 1, max: 101 }, requestsPerMinute: 2_000 },
      "ok",
    ],
    ["an on-demand model has quotas of its own", { modelId: "amazon.nova-lite-v1:0" }, "problem"],
  ])("%s", (_says, facts, kind) => {
    expect(quotaFindings({ step: "a@b", target: { ...target, ...facts } }, "Nova Lite", quotas)).toMatchObject([
      { kind },
    ]);
  });
  test("a model that no quota names is not judged", () => {
    expect(quotaFindings({ step: "a@b", target }, "Somebody's", quotas)).toMatchObject([{ kind: "unknown" }]);
  });
});
