import { SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SendMessageCommandInput, SQSClient } from "@aws-sdk/client-sqs";
import { sqsJson } from "../core/json.ts";
import { busPlaceOf, queueNameOf, topicPlaceOf } from "../core/reply-to.ts";
import { traceOfReply } from "../core/trace.ts";
import type { Announcer } from "../ports.ts";
import type { Where } from "./clients.ts";

/**
 * Tells those who wait of replies, each in the region that its name tells, or in the function's own. `sqsIn` gives a
 * client for queues there; those of the other services are loaded when somebody waits there, for most never do.
 */
export function createAnnouncer(sqsIn: (region: string | undefined) => SQSClient, where: Where = {}): Announcer {
  const queuesIn = oncePerRegion(sqsIn);
  const busesIn = oncePerRegion(async (region) => (await import("./event-bus.ts")).createEventBuses(at(region)));
  const topicsIn = oncePerRegion(async (region) => (await import("./topics.ts")).createTopics(at(region)));
  // A token does not tell its region, and is good in its own account alone.
  const tasksIn = oncePerRegion(async () => (await import("./tasks.ts")).createTasks(where));

  function at(region: string | undefined): Where {
    return region === undefined ? where : { ...where, region };
  }

  return {
    async announce(to, reply) {
      switch (to.kind) {
        case "sqs": {
          const message = new SendMessageCommand({
            QueueUrl: to.queueUrl,
            MessageBody: sqsJson(reply),
            ...systemAttributes(traceOfReply(reply, ownTrace())),
          });
          await queuesIn(queueNameOf(to.queueUrl)?.region).send(message);
          return "sent";
        }
        case "eventBus": {
          const buses = await busesIn(busPlaceOf(to.name)?.region);
          await buses.put(to.name, reply, traceOfReply(reply, ownTrace()));
          return "sent";
        }
        case "sns": {
          const topics = await topicsIn(topicPlaceOf(to.topicArn)?.region);
          await topics.publish(to.topicArn, reply);
          return "sent";
        }
        case "taskToken": {
          const tasks = await tasksIn(undefined);
          return tasks.end(to.token, reply);
        }
      }
    },
    async beat(token) {
      const tasks = await tasksIn(undefined);
      return tasks.beat(token);
    },
  };
}

/** Lambda's, of the invocation that is running: the SDK would send nothing else. */
function ownTrace(): string | undefined {
  return process.env["_X_AMZN_TRACE_ID"];
}

function systemAttributes(trace: string | undefined): Pick<SendMessageCommandInput, "MessageSystemAttributes"> {
  if (trace === undefined) return {};
  return { MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: trace } } };
}

function oncePerRegion<Client>(open: (region: string | undefined) => Client): (region: string | undefined) => Client {
  const clients = new Map<string | undefined, Client>();
  return (region) => {
    const client = clients.get(region) ?? open(region);
    clients.set(region, client);
    return client;
  };
}
