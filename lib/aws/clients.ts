import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { dynamoThrottling } from "../core/measure.ts";

/** Where a service is, when the environment of the process does not say it. */
export interface Where {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/**
 * One pool of kept-alive connections a client. The SDK's own timeouts only warn (`requestTimeout`) or watch inactivity,
 * so each is told to throw; `socketTimeout` also ends a body that stops coming.
 */
export function withTimeout(attemptMsMax: number) {
  return {
    maxAttempts: 3,
    requestHandler: new NodeHttpHandler({
      connectionTimeout: attemptMsMax,
      requestTimeout: attemptMsMax,
      socketTimeout: attemptMsMax,
      throwOnRequestTimeout: true,
    }),
  };
}

export function dynamoClient(where: Where = {}): DynamoDBClient {
  return new DynamoDBClient({ ...where, ...withTimeout(1_000) });
}

/**
 * The same for a worker, whose log and metrics know an error by its name: an on-demand table and a model call their
 * refusal by one name, and here the table's gets its own, when all retries are over.
 */
export function workersDynamoClient(where: Where = {}): DynamoDBClient {
  const client = dynamoClient(where);
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        if (error instanceof Error && error.name === "ThrottlingException") error.name = dynamoThrottling;
        throw error;
      }
    },
    { step: "initialize", priority: "high" },
  );
  return client;
}

export function sqsClient(where: Where = {}): SQSClient {
  // A queue's URL names its host, which is right on AWS alone: a local engine's URLs do not resolve.
  const useQueueUrlAsEndpoint = !isElsewhere(where, "SQS");
  return new SQSClient({ ...where, ...withTimeout(3_000), useQueueUrlAsEndpoint });
}

export function s3Client(where: Where = {}): S3Client {
  // Buckets as host names need a DNS that a local engine does not have.
  return new S3Client({ ...where, ...withTimeout(10_000), forcePathStyle: isElsewhere(where, "S3") });
}

/** The SDK itself reads these variables; https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html */
function isElsewhere(where: Where, service: "SQS" | "S3"): boolean {
  const endpoint = where.endpoint ?? process.env[`AWS_ENDPOINT_URL_${service}`] ?? process.env["AWS_ENDPOINT_URL"];
  return endpoint !== undefined && endpoint !== "";
}
