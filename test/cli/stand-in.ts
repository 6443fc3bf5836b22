/**
 * Lambda, Bedrock's control plane, KMS, Service Quotas and CloudFormation as far as the doctor asks them, for which there is no
 * engine: AWS's protocols over HTTP, with what it says of a healthy deployment unless a test says otherwise.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import type { JsonObject } from "../../lib/core/json.ts";

export interface Said {
  readonly status?: number;
  readonly body: JsonObject | string;
  /** What time it is there. */
  readonly date?: Date;
}

/** What is answered instead, by operation: `ListEventSourceMappings`, `GetKeyPolicy`. */
export type Instead = Readonly<Record<string, Said>>;

export interface StandIn {
  readonly endpoint: string;
  instead: Instead;
  /** What it was sent last, by operation. */
  readonly sent: Map<string, string>;
  stop(): Promise<void>;
}

export function refused(type: string, message: string, status = 400): Said {
  return { status, body: { __type: type, message } };
}

const availability = {
  authorizationStatus: "AUTHORIZED",
  entitlementAvailability: "AVAILABLE",
  regionAvailability: "AVAILABLE",
  agreementAvailability: { status: "AVAILABLE" },
};
export const mapping = {
  UUID: "11111111-2222-3333-4444-555555555555",
  State: "Enabled",
  FunctionArn: "arn:aws:lambda:us-west-2:123456789012:function:worker:live",
  FunctionResponseTypes: ["ReportBatchItemFailures"],
};
const healthy: Instead = {
  ListEventSourceMappings: { body: { EventSourceMappings: [mapping] } },
  GetFunctionConfiguration: { body: { State: "Active", LastUpdateStatus: "Successful" } },
  GetInferenceProfile: { body: { status: "ACTIVE" } },
  GetFoundationModelAvailability: { body: availability },
  GetFoundationModel: { body: { modelDetails: { modelName: "Nova Lite" } } },
  ListServiceQuotas: {
    body: {
      Quotas: [{ QuotaName: "Cross-region model inference requests per minute for Amazon Nova Lite", Value: 2_000 }],
    },
  },
  DescribeKey: { body: { KeyMetadata: { KeyId: "key-1", Enabled: true, KeyState: "Enabled" } } },
};

export async function startStandIn(): Promise<StandIn> {
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const operation = operationOf(request.url ?? "", String(request.headers["x-amz-target"]), sent);
      standIn.sent.set(operation, sent);
      const {
        status = 200,
        body,
        date,
      } = standIn.instead[operation] ?? healthy[operation] ?? refused("UnknownOperation", operation);
      const isXml = typeof body === "string";
      const type = isXml || typeof body["__type"] !== "string" ? "" : body["__type"];
      const headers = {
        "content-type": isXml ? "text/xml" : "application/json",
        ...(type === "" ? {} : { "x-amzn-errortype": type }),
        ...(date && { date: date.toUTCString() }),
      };
      response.writeHead(status, headers).end(isXml ? body : JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const standIn: StandIn = {
    endpoint: `http://127.0.0.1:${port}`,
    instead: {},
    sent: new Map(),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return standIn;
}

function operationOf(path: string, target: string, sent: string): string {
  if (target.includes(".")) return target.split(".")[1] ?? "";
  if (path.includes("/event-source-mappings")) return "ListEventSourceMappings";
  if (path.includes("/functions/")) return "GetFunctionConfiguration";
  if (path.includes("/foundation-model-availability/")) return "GetFoundationModelAvailability";
  if (path.includes("/foundation-models/")) return "GetFoundationModel";
  if (path.includes("/inference-profiles/")) return "GetInferenceProfile";
  return new URLSearchParams(sent).get("Action") ?? path;
}
