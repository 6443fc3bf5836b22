/** The doctor's look at tables and queues, and at who may use their keys. */
import { DescribeTableCommand, DescribeTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { GetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";

import { isObject, parseJson } from "../core/json.ts";
import type { Json } from "../core/json.ts";
import { lanes } from "../core/lane.ts";
import type { Lane } from "../core/lane.ts";
import { hiddenMessagesMax, laneLimits, queueVisibilityS } from "../core/limits.ts";
import { sweepIndex } from "../core/sweep.ts";
import { checked, ok, problem, problemsOr, unknown } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { outputOf } from "./outputs.ts";
import type { Outputs } from "./outputs.ts";

const deployAgain = "deploy the stack again";
const awsKey = /alias\/aws\/sqs$/;

export async function checkTables(dynamo: DynamoDBClient, outputs: Outputs): Promise<readonly Finding[]> {
  const jobTable = outputOf(outputs, "jobTableName");
  const leaseTable = outputOf(outputs, "leaseTableName");
  const found = await Promise.all([
    checkTable(dynamo, "job table", jobTable, "jobId", [sweepIndex.name]),
    checkTable(dynamo, "lease table", leaseTable, "pk", []),
    checked("job table", async () => {
      if (outputs.local !== undefined) return [unknown("job table", "engines on this machine delete no rows by TTL")];
      const { TimeToLiveDescription: ttl } = await dynamo.send(new DescribeTimeToLiveCommand({ TableName: jobTable }));
      const isOn = ttl?.AttributeName === "ttl" && ["ENABLED", "ENABLING"].includes(ttl.TimeToLiveStatus ?? "");
      return [
        isOn
          ? ok("job table", "rows go by their ttl")
          : problem("job table", "no TTL on the attribute ttl: rows and replies stay for ever", deployAgain),
      ];
    }),
  ]);
  return found.flat();
}

function checkTable(
  dynamo: DynamoDBClient,
  check: string,
  name: string,
  key: string,
  indexes: readonly string[],
): Promise<readonly Finding[]> {
  const absent = { says: `${name} is not there`, remedy: "check stack and region, or deploy the stack again" };
  const look = async () => {
    const { Table } = await dynamo.send(new DescribeTableCommand({ TableName: name }));
    const keys = (Table?.KeySchema ?? []).map(({ AttributeName }) => AttributeName);
    const active = new Set(
      (Table?.GlobalSecondaryIndexes ?? []).flatMap(({ IndexName = "", IndexStatus = "ACTIVE" }) =>
        IndexStatus === "ACTIVE" ? [IndexName] : [],
      ),
    );
    return problemsOr(check, name, [
      ...(Table?.TableStatus === "ACTIVE"
        ? []
        : [problem(check, `${name} is ${Table?.TableStatus ?? "gone"}`, "wait until it is ACTIVE")]),
      ...(keys.length === 1 && keys[0] === key
        ? []
        : [
            problem(
              check,
              `${name} has the key ${keys.join(", ")}, not ${key}`,
              "it is another table; check the outputs",
            ),
          ]),
      ...indexes
        .filter((index) => !active.has(index))
        .map((index) =>
          problem(check, `the index ${index} is not there, or not active: nothing is swept`, deployAgain),
        ),
    ]);
  };
  return checked(check, look, absent);
}

/** Of a lane, or parked, or replies. */
export async function checkQueues(sqs: SQSClient, outputs: Outputs): Promise<readonly Finding[]> {
  const names = [...lanes, "parked", "replies"] as const;
  const found = names.map((name) => checkQueue(sqs, name, outputOf(outputs, `${name}QueueUrl`), outputs));
  return (await Promise.all(found)).flat();
}

function checkQueue(
  sqs: SQSClient,
  name: Lane | "parked" | "replies",
  QueueUrl: string,
  outputs: Outputs,
): Promise<readonly Finding[]> {
  const check = `queue ${name}`;
  const absent = { says: `${QueueUrl} is not there`, remedy: "check stack and region, or deploy the stack again" };
  const look = async () => {
    const { Attributes: seen = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }),
    );
    const hidden = Number(seen["ApproximateNumberOfMessagesNotVisible"] ?? 0);
    const found = problemsOr(check, `${seen["ApproximateNumberOfMessages"] ?? "?"} waiting, ${hidden} hidden`, [
      ...(name === "parked" || name === "replies" ? [] : laneProblems(check, name, seen)),
      ...(hidden > hiddenMessagesMax
        ? [
            problem(
              check,
              `${hidden} messages are hidden, of 120,000 that SQS bears`,
              "pause what sends, or raise limits",
            ),
          ]
        : []),
      ...(awsKey.test(seen["KmsMasterKeyId"] ?? "")
        ? [
            problem(
              check,
              "it is under the key that AWS manages: what SNS, EventBridge and S3 send is lost",
              "use SSE-SQS or a key of your own",
            ),
          ]
        : []),
    ]);
    const key = seen["KmsMasterKeyId"] ?? "";
    return key === "" || awsKey.test(key)
      ? found
      : [...found, ...(await checkKey(check, key, seen["Policy"], outputs))];
  };
  return checked(check, look, absent);
}

function laneProblems(check: string, lane: Lane, seen: Readonly<Record<string, string>>): readonly Finding[] {
  const [visibilityS, neededS] = [Number(seen["VisibilityTimeout"]), queueVisibilityS(lane)];
  const redrive = parseJson(seen["RedrivePolicy"] ?? "");
  const receives = isObject(redrive) ? Number(redrive["maxReceiveCount"]) : undefined;
  const receivesMin = laneLimits[lane].receivesMax;
  return [
    ...(visibilityS < neededS
      ? [
          problem(
            check,
            `its visibility is ${visibilityS} s, below the ${neededS} s that its function needs: messages come twice`,
            "deploy the stack again, or set VisibilityTimeout",
          ),
        ]
      : []),
    ...(receives === undefined
      ? [problem(check, "it has no dead-letter queue: what SQS gives up is not answered", deployAgain)]
      : []),
    ...(receives !== undefined && receives < receivesMin
      ? [
          problem(
            check,
            `SQS gives messages up after ${receives} receives, not ${receivesMin}: patience looks like a fault`,
            "set maxReceiveCount in its redrive policy",
          ),
        ]
      : []),
    ...(seen["FifoQueue"] === "true"
      ? [problem(check, "it is a FIFO queue", "use a standard queue; the claim keeps duplicates away")]
      : []),
  ];
}

/** Services that the queue's policy lets in must be let in by its key too: else what they send is lost without a word. */
function checkKey(
  check: string,
  key: string,
  policy: string | undefined,
  outputs: Outputs,
): Promise<readonly Finding[]> {
  return checked(`${check}, key`, async () => {
    if (outputs.local !== undefined) return [unknown(`${check}, key`, "there is no KMS on this machine")];
    const { DescribeKeyCommand, GetKeyPolicyCommand, KMSClient } = await import("@aws-sdk/client-kms");
    const kms = new KMSClient({});
    const { KeyMetadata } = await kms.send(new DescribeKeyCommand({ KeyId: key }));
    const { Policy } = await kms.send(new GetKeyPolicyCommand({ KeyId: KeyMetadata?.KeyId ?? key }));
    const allowed = servicesIn(Policy, /^kms:(\*|GenerateDataKey\*?)$/);
    const blocked = servicesIn(policy, /^(sqs|SQS):(\*|SendMessage)$/).filter((service) => !allowed.includes(service));
    return problemsOr(`${check}, key`, `${key} lets its feeds in`, [
      ...(KeyMetadata?.Enabled === false
        ? [
            problem(
              `${check}, key`,
              `${key} is ${KeyMetadata.KeyState ?? "disabled"}: nothing can be sent or read`,
              "enable the key",
            ),
          ]
        : []),
      ...blocked.map((service) =>
        problem(
          `${check}, key`,
          `${key} does not let ${service} in: what it sends is lost`,
          `allow ${service} kms:GenerateDataKey and kms:Decrypt in the key's policy (allowFeed does)`,
        ),
      ),
    ]);
  });
}

/** The services to which a policy allows an action. */
function servicesIn(policy: string | undefined, action: RegExp): readonly string[] {
  const read = parseJson(policy ?? "");
  const statements = isObject(read) ? listOf(read["Statement"]) : [];
  return statements.flatMap((statement) => {
    if (!isObject(statement) || statement["Effect"] !== "Allow" || !isObject(statement["Principal"])) return [];
    if (!textsOf(statement["Action"]).some((each) => action.test(each))) return [];
    return textsOf(statement["Principal"]["Service"]);
  });
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function textsOf(value: Json | undefined): readonly string[] {
  return listOf(value).filter((each): each is string => typeof each === "string");
}
