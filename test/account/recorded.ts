/**
 * AWS's answers over HTTP, in the formats of its protocols: a test says what each operation answers. SQS, DynamoDB,
 * EventBridge and CountTokens answer JSON, CloudWatch XML, by the action in its body.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { isObject, parseJson } from "../../lib/core/json.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import type { Engine } from "../../infra/local/engines.ts";

/** By the operation's name: what it answers to its input. A text is XML. */
export type Answers = Readonly<Record<string, (input: JsonObject) => Answer>>;
type Answer = { readonly body: JsonObject | string; readonly status?: number };

export async function startRecorded(answers: Answers): Promise<Engine> {
  const server = createServer((request, response) => {
    void text(request).then((sent) => {
      const operation =
        String(request.headers["x-amz-target"] ?? "").split(".")[1] ??
        new URLSearchParams(sent).get("Action") ??
        request.url?.split("/").at(request.method === "GET" ? 1 : -1) ??
        "";
      const input = parseJson(sent);
      const { status = 200, body } = answers[operation]?.(isObject(input) ? input : {}) ?? notRecorded(operation);
      response.writeHead(status, { "content-type": "application/x-amz-json-1.0" });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function refused(type: string, message: string): Answer {
  return { status: 400, body: { __type: type, message } };
}

function notRecorded(operation: string): Answer {
  return refused("UnknownOperationException", `nothing is recorded for ${operation}`);
}

const queueArn = "arn:aws:sqs:us-east-1:123456789012:facts";
const deadArn = `${queueArn}-dead`;

/** SQS as AWS answers, as far as the facts ask. It holds the last message that was sent, and its group unless told. */
export function sqsAnswers({ forgetsGroup = false } = {}): Answers {
  let last: JsonObject = {};
  return {
    SendMessage: ({ MessageBody, MessageGroupId = "" }) => {
      const Body = typeof MessageBody === "string" ? MessageBody : "";
      const MessageId = randomUUID();
      const MD5OfBody = createHash("md5").update(Body).digest("hex");
      const Attributes = forgetsGroup ? {} : { MessageGroupId };
      last = { MessageId, ReceiptHandle: MessageId, Body, MD5OfBody, Attributes };
      return { body: { MessageId, MD5OfMessageBody: MD5OfBody } };
    },
    ReceiveMessage: () => ({ body: { Messages: [last] } }),
    ChangeMessageVisibility: ({ VisibilityTimeout }) =>
      Number(VisibilityTimeout) < 43_200
        ? { body: {} }
        : refused(
            "com.amazonaws.sqs#InvalidParameterValue",
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
          ),
    DeleteMessage: () => ({ body: {} }),
    GetQueueAttributes: ({ QueueUrl }) => ({
      body: {
        Attributes:
          typeof QueueUrl === "string" && QueueUrl.endsWith("dead")
            ? {
                QueueArn: deadArn,
                RedriveAllowPolicy: JSON.stringify({ redrivePermission: "byQueue", sourceQueueArns: [queueArn] }),
              }
            : { QueueArn: queueArn },
      },
    }),
    SetQueueAttributes: () =>
      refused("com.amazonaws.sqs#InvalidAttributeValue", "the dead-letter queue does not allow this source"),
    StartMessageMoveTask: () => ({ body: { TaskHandle: "one" } }),
  };
}
