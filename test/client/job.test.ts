/** Held by the compiler: `npm run types` fails where one of these is not so. */
import type { Message } from "@aws-sdk/client-bedrock-runtime";
import { describe, expectTypeOf, test } from "vitest";
import type { Client, Job, JobId, JobOf, ReplyOf, ReplyTo } from "../../lib/client/index.ts";
import type { Op } from "../../lib/core/config.ts";
import type { JsonObject } from "../../lib/core/json.ts";

type Output<R> = R extends { output: infer O } ? O : never;
type ConverseOutput = Output<ReplyOf<"converse">>;
type RepliedBy<F extends (client: Client) => Promise<unknown>> =
  Awaited<ReturnType<F>> extends infer Waited
    ? Waited extends { kind: "replied"; reply: infer Reply }
      ? Reply
      : never
    : never;

async function askConverse(client: Client) {
  const jobId = await client.submit({
    jobId: "j-1",
    model: "fast-text",
    op: "converse",
    params: { messages: [{ role: "user", content: [{ text: "Hello" }] }] },
  });
  return await client.waitForReply(jobId);
}

async function askByJob(client: Client, job: JobOf<"converse">) {
  const waited = await client.waitForReply(job);
  return waited.kind === "conflict" ? undefined : waited;
}

async function askAny(client: Client) {
  return await client.waitForReply("j-1");
}

describe("op decides", () => {
  test("the type of params", () => {
    expectTypeOf<NonNullable<JobOf<"converse">["params"]>["messages"]>().toEqualTypeOf<Message[] | undefined>();
    expectTypeOf<{ jobId: string; model: string; op: "converse"; params: { messages: "hello" } }>().not.toExtend<Job>();
  });

  test("and params have no place for a model id", () => {
    expectTypeOf<NonNullable<JobOf<"converse">["params"]>>().not.toHaveProperty("modelId");
    expectTypeOf<NonNullable<JobOf<"converse_stream">["params"]>>().not.toHaveProperty("modelId");
  });

  test("the type of the reply's output", () => {
    expectTypeOf<NonNullable<ConverseOutput["usage"]>["inputTokens"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Output<ReplyOf<"converse_stream">>>().toEqualTypeOf<ConverseOutput>();
    expectTypeOf<Output<ReplyOf<"invoke_model">>>().toEqualTypeOf<JsonObject>();
  });

  test("from submit to waitForReply, through the job's id", () => {
    expectTypeOf<RepliedBy<typeof askConverse>>().toEqualTypeOf<ReplyOf<"converse">>();
  });

  test("from the job itself to its reply, or to a conflict, of which an id knows nothing", () => {
    type Asked = NonNullable<Awaited<ReturnType<typeof askByJob>>>;
    expectTypeOf<Extract<Asked, { kind: "replied" }>["reply"]>().toEqualTypeOf<ReplyOf<"converse">>();
    expectTypeOf<Awaited<ReturnType<typeof askAny>>["kind"]>().toEqualTypeOf<"replied" | "timeout">();
    expectTypeOf<
      (client: Client, jobs: Job[]) => Promise<readonly { kind: "replied" | "open" | "conflict" | "refused" }[]>
    >((client, jobs) => client.replies(jobs));
  });

  test("a plain string waits for any output", () => {
    expectTypeOf<RepliedBy<typeof askAny>>().toEqualTypeOf<ReplyOf<Op>>();
    expectTypeOf<JobId<"converse">>().toExtend<string>();
  });
});

describe("a job", () => {
  test("has params or a reference to them, not both and not neither", () => {
    type Base = { jobId: string; model: string; op: "converse" };
    expectTypeOf<Base & { params: object; paramsRef: string }>().not.toExtend<Job>();
    expectTypeOf<Base>().not.toExtend<Job>();
    expectTypeOf<Base & { paramsRef: string }>().toExtend<Job>();
  });

  test("of invoke_model has an object for params, whatever its type is called, and no list, map or promise", () => {
    interface Body {
      readonly prompt: string;
    }
    type Params = NonNullable<JobOf<"invoke_model">["params"]>;
    expectTypeOf<{ prompt: string; stop: string[] }>().toExtend<Params>();
    expectTypeOf<Body>().toExtend<Params>();
    expectTypeOf<number[]>().not.toExtend<Params>();
    expectTypeOf<Map<string, string>>().not.toExtend<Params>();
    expectTypeOf<Uint8Array>().not.toExtend<Params>();
    expectTypeOf<Promise<Body>>().not.toExtend<Params>();
    expectTypeOf<string>().not.toExtend<Params>();
    // A literal is held to the fields of its type: here it has none of its own.
    expectTypeOf<JobOf<"invoke_model">>({ jobId: "j", model: "m", op: "invoke_model", params: { prompt: "Hello" } });
  });

  test("is announced in one way", () => {
    expectTypeOf<{ sqs: string }>().toExtend<ReplyTo>();
    expectTypeOf<{ eventBus: string }>().toExtend<ReplyTo>();
    expectTypeOf<{ sns: string }>().toExtend<ReplyTo>();
    expectTypeOf<{ taskToken: string; heartbeatSeconds: number }>().toExtend<ReplyTo>();
    expectTypeOf<{ sqs: string; sns: string }>().not.toExtend<ReplyTo>();
    expectTypeOf<{ eventBus: string; taskToken: string }>().not.toExtend<ReplyTo>();
    expectTypeOf<{ sqs: string; heartbeatSeconds: number }>().not.toExtend<ReplyTo>();
  });

  test("its bytes come back as base64 text", () => {
    type Content = NonNullable<NonNullable<NonNullable<ConverseOutput["output"]>["message"]>["content"]>[number];
    type Image = NonNullable<NonNullable<Content["image"]>["source"]>["bytes"];
    expectTypeOf<Image>().toEqualTypeOf<string | undefined>();
  });
});
