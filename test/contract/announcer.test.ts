/** Where replies are announced beside queues: over HTTP, as the SDK's clients speak to AWS. */
import { once } from "node:events";
import { createServer } from "node:http";
import { CreateTopicCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import { createAnnouncer } from "../../lib/aws/announcer.ts";
import { sqsClient } from "../../lib/aws/clients.ts";
import type { ReplyTo } from "../../lib/core/reply-to.ts";
import { createMemoryAnnouncer } from "../../lib/memory/announcer.ts";
import { createQueue, engineForTests, localClient } from "./engines.ts";
import { startJsonServices } from "./json-services.ts";
import type { JsonServices } from "./json-services.ts";

const ok = { jobId: "j-1", ok: true, status: "succeeded", output: { text: "ü\uFFFF" }, metadata: {} };
const failed = { jobId: "j-1", ok: false, status: "failed", error: { code: "no_capacity", message: "full" } };
const big = "ü".repeat(140_000);

const text = (reply: object) => JSON.stringify(reply);
const noQueues = () => {
  throw new Error("nobody sends to a queue here");
};

async function onServices() {
  let services: JsonServices | undefined;
  const endpoint = await engineForTests(async () => (services = await startJsonServices()));
  if (services === undefined) throw new Error("the services did not start");
  return { services, announcer: createAnnouncer(noQueues, localClient(endpoint)) };
}

describe("an announcement to an event bus", async () => {
  const { services, announcer } = await onServices();
  const to = { kind: "eventBus", name: "default" } as const;
  const lastEntry = () => services.calls.at(-1)?.input["Entries"];
  afterEach(() => services.failing.clear());

  test("is an event whose detail is the reply", async () => {
    expect(await announcer.announce(to, text(ok))).toBe("sent");
    expect(services.calls.at(-1)?.operation).toBe("PutEvents");
    expect(lastEntry()).toEqual([
      {
        EventBusName: "default",
        Source: "sluice",
        DetailType: "Sluice Job Completed",
        Detail: expect.toSatisfy((detail: string) => text(JSON.parse(detail)) === text(ok)),
      },
    ]);
  });

  test("that is too big leaves the output where it is", async () => {
    expect(await announcer.announce(to, text({ ...ok, output: big }))).toBe("sent");
    expect(lastEntry()).toMatchObject([
      { Detail: text({ jobId: "j-1", ok: true, status: "succeeded", metadata: {} }) },
    ]);
  });

  test.each(["ThrottlingException", "InternalFailure", "AccessDeniedException"])(
    "fails by its entry's %s, though the request went well",
    async (code) => {
      services.failing.set("default", code);
      await expect(announcer.announce(to, text(ok))).rejects.toMatchObject({ name: code });
    },
  );
});

describe("an announcement to a task of Step Functions", async () => {
  const { services, announcer } = await onServices();
  const to = (token: string) => ({ kind: "taskToken", token }) as const;
  const aTask = (token: string) => {
    services.known.add(token);
    services.waiting.add(token);
    return to(token);
  };
  afterEach(() => {
    services.down = undefined;
  });

  test("of a job that went well is its success, the reply its output", async () => {
    expect(await announcer.announce(aTask("good"), text(ok))).toBe("sent");
    const { operation, input } = services.calls.at(-1) ?? {};
    expect(operation).toBe("SendTaskSuccess");
    expect(input).toEqual({ taskToken: "good", output: text(ok).replace("\uFFFF", "\\uffff") });
  });

  test("of any other is its failure, to be caught by its code", async () => {
    expect(await announcer.announce(aTask("bad"), text(failed))).toBe("sent");
    expect(services.calls.at(-1)).toEqual({
      operation: "SendTaskFailure",
      input: { taskToken: "bad", error: "no_capacity", cause: text(failed) },
    });
  });

  test("is taken whatever the size of the reply", async () => {
    const error = { code: "no_capacity", message: big };
    expect(await announcer.announce(aTask("big"), text({ ...ok, output: big }))).toBe("sent");
    expect(await announcer.announce(aTask("big-failure"), text({ ...failed, error, metadata: { big } }))).toBe("sent");
  });

  test("that has its answer finds it gone, which is as good", async () => {
    await announcer.announce(aTask("twice"), text(ok));
    expect(await announcer.announce(to("twice"), text(ok))).toBe("gone");
    expect(await announcer.announce(to("twice"), text(failed))).toBe("gone");
  });

  test.each([
    ["a token that is none", "nonsense"],
    ["a task that is none", "of-no-activity"],
  ])("by %s finds nobody", async (_says, token) => {
    for (const reply of [ok, failed]) expect(await announcer.announce(to(token), text(reply))).toBe("gone");
    expect(await announcer.beat(token)).toBe("gone");
  });

  test("fails where Step Functions does, after three attempts", async () => {
    services.down = { type: "ServiceUnavailable", status: 503 };
    const before = services.calls.length;
    await expect(announcer.announce(aTask("later"), text(ok))).rejects.toMatchObject({ name: "ServiceUnavailable" });
    expect(services.calls.length - before).toBe(3);
  });

  test("that nobody lets us make fails: it may be allowed yet", async () => {
    services.down = { type: "AccessDeniedException", status: 400 };
    await expect(announcer.announce(to("good"), text(ok))).rejects.toMatchObject({ name: "AccessDeniedException" });
    await expect(announcer.beat("good")).rejects.toMatchObject({ name: "AccessDeniedException" });
  });

  test("may be preceded by heartbeats, until it is made", async () => {
    const task = aTask("slow");
    expect(await announcer.beat("slow")).toBe("alive");
    expect(services.calls.at(-1)).toEqual({ operation: "SendTaskHeartbeat", input: { taskToken: "slow" } });
    await announcer.announce(task, text(ok));
    expect(await announcer.beat("slow")).toBe("gone");
  });
});

describe("an announcement to a topic", async () => {
  const endpoint = await engineForTests(startFauxqs);
  const where = localClient(endpoint);
  const announcer = createAnnouncer(noQueues, where);
  const sns = new SNSClient(where);
  const sqs = sqsClient(where);
  const { TopicArn = "" } = await sns.send(new CreateTopicCommand({ Name: "replies" }));
  const queueOf = async (attributes: Readonly<Record<string, string>>) => {
    const QueueUrl = await createQueue(endpoint);
    const Endpoint = `arn:aws:sqs:us-east-1:000000000000:${QueueUrl.split("/").at(-1)}`;
    const Attributes = { RawMessageDelivery: "true", ...attributes };
    await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint, Attributes }));
    return async () => {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ["All"] }),
      );
      for (const { ReceiptHandle } of Messages) await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      return Messages;
    };
  };
  const all = await queueOf({});
  const failures = await queueOf({ FilterPolicy: JSON.stringify({ status: ["failed"] }) });
  const to = { kind: "sns", topicArn: TopicArn } as const;

  test("is the reply, with its job and its status beside it", async () => {
    expect(await announcer.announce(to, text(ok))).toBe("sent");
    const [message] = await all();
    expect(JSON.parse(message?.Body ?? "")).toEqual(ok);
    expect(message?.MessageAttributes).toMatchObject({
      jobId: { DataType: "String", StringValue: "j-1" },
      status: { DataType: "String", StringValue: "succeeded" },
    });
  });

  test("reaches whoever wants to hear of failures alone", async () => {
    await failures();
    await announcer.announce(to, text(ok));
    await announcer.announce(to, text(failed));
    expect((await failures()).map(({ Body }) => Body)).toEqual([text(failed)]);
  });

  test("that is too big leaves the output where it is", async () => {
    await all();
    expect(await announcer.announce(to, text({ ...ok, output: big }))).toBe("sent");
    expect(JSON.parse((await all())[0]?.Body ?? "")).toEqual({
      jobId: "j-1",
      ok: true,
      status: "succeeded",
      metadata: {},
    });
  });

  test("that is not there fails, for somebody may make it yet", async () =>
    await expect(announcer.announce({ kind: "sns", topicArn: `${TopicArn}-gone` }, text(ok))).rejects.toBeInstanceOf(
      Error,
    ));
});

test("an announcement goes to the region that its destination names", async () => {
  const { services, announcer } = await onServices();
  const name = "arn:aws:events:eu-west-1:123456789012:event-bus/done";
  await announcer.announce({ kind: "eventBus", name }, text(ok));
  expect(services.scopes).toEqual([expect.stringContaining("/eu-west-1/events/")]);

  const topicArn = "arn:aws:sns:eu-west-1:123456789012:done";
  await expect(announcer.announce({ kind: "sns", topicArn }, text(ok))).rejects.toBeInstanceOf(Error); // no topics here
  expect(services.scopes.at(-1)).toContain("/eu-west-1/sns/");
});

describe("the trace of a job", () => {
  const trace = "Root=1-5e1b4151-5ac6c58f5b5daa6532e4d5f7;Parent=53995c3f42cd8ad8;Sampled=1";
  const traced = text({ ...ok, meta: { trace } });
  const lineage = "Lineage=25:a87bd80c:1";
  beforeEach(() => vi.stubEnv("_X_AMZN_TRACE_ID", `Root=1-00000000-000000000000000000000000;${lineage}`));
  afterEach(() => vi.unstubAllEnvs());

  test("goes with an event", async () => {
    const { services, announcer } = await onServices();
    await announcer.announce({ kind: "eventBus", name: "default" }, traced);
    expect(services.calls.at(-1)?.input["Entries"]).toMatchObject([{ TraceHeader: `${trace};${lineage}` }]);
  });

  test("goes with a message to a queue, beside its body", async () => {
    const { services } = await onServices();
    const announcer = createAnnouncer(() => sqsClient(localClient(services.endpoint)));
    const queueUrl = "https://sqs.us-east-1.amazonaws.com/123456789012/replies";
    await announcer.announce({ kind: "sqs", queueUrl }, traced);
    expect(services.calls.at(-1)).toMatchObject({
      operation: "SendMessage",
      input: {
        MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: `${trace};${lineage}` } },
      },
    });
    await announcer.announce({ kind: "sqs", queueUrl }, text(ok));
    expect(services.calls.at(-1)?.input).not.toHaveProperty("MessageSystemAttributes");
  });
});

describe("who is told, and says nothing,", () => {
  const destinations: readonly ReplyTo[] = [
    { kind: "eventBus", name: "default" },
    { kind: "sns", topicArn: "arn:aws:sns:us-east-1:123456789012:done" },
    { kind: "taskToken", token: "t" },
  ];
  test.concurrent.each(destinations)(
    "by $kind is given up after three attempts",
    async (to) => {
      let requests = 0;
      const silent = createServer(() => (requests += 1));
      silent.listen(0, "127.0.0.1");
      await once(silent, "listening");
      const address = silent.address();
      const port = typeof address === "object" ? address?.port : undefined;
      const announcer = createAnnouncer(noQueues, localClient(`http://127.0.0.1:${port}`));
      await expect(announcer.announce(to, text(ok))).rejects.toMatchObject({ name: "TimeoutError" });
      expect(requests).toBe(3);
      silent.closeAllConnections();
      silent.close();
    },
    30_000,
  );
});

test("a heartbeat in memory is kept, in order", async () => {
  const memory = createMemoryAnnouncer();
  expect(await memory.beat("a")).toBe("alive");
  expect(await memory.beat("b")).toBe("alive");
  expect(memory.beats).toEqual(["a", "b"]);
});
