/** How the services that a worker calls name their operations on the wire, and how each says that it failed. */
import type { IncomingMessage } from "node:http";

import { jobOfTag } from "../../lib/aws/bedrock.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import { faults } from "../../lib/memory/bedrock-script.ts";
import { errorReply } from "../../infra/local/bedrock/reply.ts";
import type { Reply } from "../../infra/local/bedrock/reply.ts";

export type Head = Pick<IncomingMessage, "method" | "url" | "headers">;

export interface Wire {
  /** What boundary a request crosses: `JobTable UpdateItem`, `SendMessage`, `converse`. */
  operationOf(head: Head, body: Buffer): string;
  /** The job that a request names in the open, if any. */
  jobOf(head: Head, body: Buffer): string | undefined;
  readonly failed: Reply;
  readonly throttled: Reply;
}

export const dynamoWire: Wire = {
  operationOf(head, body) {
    const [, table = ""] =
      /"(?:TableName":|RequestItems":\{)"[A-Za-z]*?((?:Job|Lease)Table)/.exec(body.toString()) ?? [];
    return `${table} ${targetOf(head)}`;
  },
  jobOf: () => undefined,
  failed: amzJson(500, "com.amazonaws.dynamodb.v20120810#InternalServerError", "The request failed."),
  throttled: amzJson(
    400,
    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "The level of configured provisioned throughput for the table was exceeded.",
  ),
};

export const sqsWire: Wire = {
  operationOf: targetOf,
  jobOf: () => undefined,
  failed: amzJson(500, "com.amazonaws.sqs#InternalFailure", "The request failed."),
  throttled: amzJson(400, "com.amazonaws.sqs#RequestThrottled", "The request was throttled.", {
    "x-amzn-query-error": "RequestThrottled;Sender",
  }),
};

export const s3Wire: Wire = {
  operationOf: ({ method = "" }) => `${method.charAt(0)}${method.slice(1).toLowerCase()}Object`,
  jobOf: () => undefined,
  failed: xml(500, "InternalError", "We encountered an internal error. Please try again."),
  throttled: xml(503, "SlowDown", "Please reduce your request rate."),
};

export const bedrockWire: Wire = {
  operationOf: ({ url = "" }) => url.split("/").at(-1) ?? "",
  jobOf({ headers }, body) {
    const header = headers["x-amzn-bedrock-request-metadata"];
    const asked = parseJson(body.toString());
    const metadata = typeof header === "string" ? parseJson(header) : isObject(asked) && asked["requestMetadata"];
    const tag = isObject(metadata) ? metadata["jobId"] : undefined;
    return typeof tag === "string" ? jobOfTag(tag) : undefined;
  },
  failed: bedrockError("internal"),
  throttled: bedrockError("throttled"),
};

/** `DynamoDB_20120810.UpdateItem` */
function targetOf({ headers }: Head): string {
  return (
    String(headers["x-amz-target"] ?? "")
      .split(".")
      .at(-1) ?? ""
  );
}

function amzJson(status: number, type: string, message: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const body = JSON.stringify({ __type: type, message });
  return { status, headers: { "content-type": "application/x-amz-json-1.0", ...headers }, body };
}

function xml(status: number, code: string, message: string): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, headers: { "content-type": "application/xml" }, body };
}

function bedrockError(name: "internal" | "throttled"): Reply {
  const [status, error, message] = faults[name];
  return errorReply({ status, name: error, message });
}
