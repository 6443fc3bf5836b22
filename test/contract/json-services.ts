/**
 * EventBridge and Step Functions as far as announcements go, for which there is no engine, and what of SQS the engine has not: AWS's JSON protocol over HTTP,
 * the limits of its API reference, and its errors in its own words. What they took is on record.
 */
import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { isObject, parseJson } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { Engine } from "../../infra/local/engines.ts";

export interface Call {
  readonly operation: string;
  readonly input: JsonObject;
}

type Answer = { readonly status?: number; readonly body?: JsonObject };

export interface JsonServices extends Engine {
  /** Every request, refused ones and the SDK's repetitions too. */
  readonly calls: Call[];
  /** What the requests were signed for: date, region and service. */
  readonly scopes: string[];
  /** Tasks that wait, by their tokens; one that has ended is taken out of it, and still known. */
  readonly waiting: Set<string>;
  readonly known: Set<string>;
  /** Buses on which entries fail, by the code that they fail with. */
  readonly failing: Map<string, string>;
  /** While it is set, nothing is answered but this. */
  down: { readonly type: string; readonly status: number } | undefined;
}

export async function startJsonServices(): Promise<JsonServices> {
  const services = {
    calls: [] as Call[],
    scopes: [] as string[],
    waiting: new Set<string>(),
    known: new Set<string>(),
    failing: new Map<string, string>(),
    down: undefined as JsonServices["down"],
  };
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const input = parseJson(sent);
      const [, operation = ""] = String(request.headers["x-amz-target"]).split(".");
      const call = { operation, input: isObject(input) ? input : {} };
      services.calls.push(call);
      services.scopes.push(String(request.headers.authorization));
      const { status = 200, body = {} } = answer(services, call);
      response.writeHead(status, { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return Object.assign(services, {
    endpoint: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

function answer(services: Omit<JsonServices, keyof Engine>, { operation, input }: Call): Answer {
  if (services.down !== undefined) return refusal(services.down.type, "try again later", services.down.status);
  switch (operation) {
    case "PutEvents":
      return putEvents(services, input);
    case "SendMessage":
      return { body: { MessageId: "m-1", MD5OfMessageBody: hash("md5", textOf(input["MessageBody"])) } };
    case "SendTaskSuccess":
      return tooLong(input, "output", 262_144) ?? endTask(services, input);
    case "SendTaskFailure":
      return tooLong(input, "error", 256) ?? tooLong(input, "cause", 32_768) ?? endTask(services, input);
    case "SendTaskHeartbeat":
      return ofTask(services, input) ?? {};
    default:
      return refusal("UnknownOperationException", operation);
  }
}

/** https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html */
function putEvents({ failing }: Pick<JsonServices, "failing">, { Entries }: JsonObject): Answer {
  const [entry, ...others] = Array.isArray(Entries) ? Entries : [];
  if (!isObject(entry) || others.length > 0) return refusal("ValidationException", "not one entry");
  const { EventBusName, Source, DetailType, Detail } = entry;
  if (bytesOf(Source) + bytesOf(DetailType) + bytesOf(Detail) >= 262_144)
    return refusal("ValidationException", "Total size of the entries in the request is over the limit.");
  const code = failing.get(textOf(EventBusName));
  if (code === undefined) return { body: { FailedEntryCount: 0, Entries: [{ EventId: "event-1" }] } };
  return { body: { FailedEntryCount: 1, Entries: [{ ErrorCode: code, ErrorMessage: "it failed" }] } };
}

function endTask(services: Pick<JsonServices, "known" | "waiting">, input: JsonObject): Answer {
  const refused = ofTask(services, input);
  services.waiting.delete(textOf(input["taskToken"]));
  return refused ?? {};
}

function ofTask({ known, waiting }: Pick<JsonServices, "known" | "waiting">, input: JsonObject): Answer | undefined {
  const token = textOf(input["taskToken"]);
  if (waiting.has(token)) return undefined;
  if (known.has(token)) return refusal("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'");
  if (token === "of-no-activity") return refusal("TaskDoesNotExist", "Task does not exist");
  return refusal("InvalidToken", "Invalid Token: 'Invalid token'");
}

function tooLong(input: JsonObject, field: string, bytesMax: number): Answer | undefined {
  if (bytesOf(input[field]) <= bytesMax) return undefined;
  const must = `Member must have length less than or equal to ${bytesMax}`;
  return refusal(
    "ValidationException",
    `1 validation error detected: Value at '${field}' failed to satisfy constraint: ${must}`,
  );
}

function refusal(type: string, message: string, status = 400): Answer {
  return { status, body: { __type: type, message } };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(textOf(value));
}
