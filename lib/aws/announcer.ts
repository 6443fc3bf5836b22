import { SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { sqsJson } from "../core/json.ts";
import { queueNameOf } from "../core/reply-to.ts";
import type { Announcer } from "../ports.ts";

/** Tells queues of replies; `sqsIn` gives a client for the region that a queue's URL names, or for the function's own. */
export function createAnnouncer(sqsIn: (region: string | undefined) => SQSClient): Announcer {
  const clients = new Map<string | undefined, SQSClient>();
  function clientFor(queueUrl: string): SQSClient {
    const region = queueNameOf(queueUrl)?.region;
    const client = clients.get(region) ?? sqsIn(region);
    clients.set(region, client);
    return client;
  }

  return {
    async announce(to, reply) {
      switch (to.kind) {
        case "sqs":
          await clientFor(to.queueUrl).send(
            new SendMessageCommand({ QueueUrl: to.queueUrl, MessageBody: sqsJson(reply) }),
          );
          return "sent";
        case "eventBus":
        case "sns":
        case "taskToken":
          // No config that has come this far allows one: an envelope that names it was refused.
          throw new Error(`nobody announces to ${to.kind} yet`);
      }
    },
  };
}
