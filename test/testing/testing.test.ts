/** What people test their own code with: the client, with the workers' own code behind it, and no time to wait. */
import { describe, expect, test, vi } from "vitest";
import type { JobOf } from "../../lib/client/index.ts";
import type { ConfigInput } from "../../lib/config.ts";
import { createTestClient, ModelError } from "../../lib/testing/index.ts";
import type { Asked, TestAnswer } from "../../lib/testing/index.ts";
import { t0 } from "../a.ts";

const params = { messages: [{ role: "user" as const, content: [{ text: "Say hello to Ada." }] }] };
type Facts = Partial<Omit<JobOf<"converse">, "params" | "paramsRef">>;
const aJob = (facts: Facts = {}): JobOf<"converse"> => ({
  jobId: "j-1",
  model: "fast-text",
  op: "converse",
  params,
  ...facts,
});
const hello = () => "Hello, Ada.";
const open = (answer: (asked: Asked) => TestAnswer | Promise<TestAnswer> = hello, config?: ConfigInput) =>
  createTestClient({ answer, startMs: t0, ...(config === undefined ? {} : { config }) });
const target = { modelId: "amazon.nova-lite-v1:0", region: "us-west-2", limit: { start: 1, max: 1 }, maxTokens: 100 };
const config: ConfigInput = {
  models: {
    "fast-text": { targets: { west: target, east: { ...target, region: "us-east-1" } }, fallback: ["smart-text"] },
    "smart-text": { targets: { west: target } },
  },
};

describe("a test's client", () => {
  test("answers a job as the test says, with all that a reply tells", async () => {
    const client = open();
    const jobId = await client.submit(aJob({ metadata: { k: "v" } }));
    const waited = await client.waitForReply(jobId);
    expect(waited).toMatchObject({
      kind: "replied",
      reply: {
        jobId: "j-1",
        ok: true,
        output: {
          output: { message: { role: "assistant", content: [{ text: "Hello, Ada." }] } },
          stopReason: "end_turn",
        },
        metadata: { k: "v" },
        meta: { model: "fast-text", attempts: 1 },
      },
    });
    expect(client.submitted).toMatchObject([{ lane: "bg", job: { ...aJob(), metadata: { k: "v" } } }]);
    expect(client.asked).toMatchObject([{ jobId: "j-1", model: "fast-text", op: "converse", params }]);
  });

  test.each<[op: JobOf<"converse">["op"] | "converse_stream" | "invoke_model", said: object]>([
    ["converse", { output: { message: { content: [{ text: "Hello, Ada." }] } } }],
    ["converse_stream", { output: { message: { content: [{ text: "Hello, Ada." }] } } }],
    ["invoke_model", { output: { message: { content: [{ text: "Hello, Ada." }] } } }],
  ])("says text as %s does", async (op, said) => {
    const client = open();
    await client.submit({ jobId: "j-1", model: "fast-text", op, params });
    expect(await client.waitForReply("j-1")).toMatchObject({ reply: { ok: true, output: said } });
  });

  test("takes an answer whole, with its tokens", async () => {
    const output = {
      output: { message: { role: "assistant", content: [] } },
      usage: { inputTokens: 7, outputTokens: 2 },
    };
    const client = open(async () => output);
    await client.submit(aJob());
    expect(await client.waitForReply("j-1")).toMatchObject({
      reply: { output, meta: { usage: { inputTokens: 7, outputTokens: 2 } } },
    });
  });

  test("refuses a job as the client does, and sends nothing", async () => {
    const client = open();
    await expect(client.submit({ ...aJob(), jobId: "no spaces" })).rejects.toMatchObject({
      name: "JobRefused",
      field: "jobId",
    });
    expect(client.submitted).toEqual([]);
    expect(await client.submitBatch([aJob(), { ...aJob(), jobId: "" }])).toMatchObject([
      { kind: "sent" },
      { kind: "refused" },
    ]);
  });

  test.each([["has space"], [""], ["x".repeat(3_000)], [undefined]])(
    "refuses the id %j, which no job can have",
    async (id) => {
      const client = open();
      const jobId = id ?? Reflect.get({}, "none");
      const refusal = {
        name: "JobRefused",
        field: "jobId",
        message: expect.stringContaining(JSON.stringify(id)?.slice(0, 100) ?? "undefined"),
      };
      for (const act of [
        () => client.waitForReply(jobId),
        () => client.replies(["j-1", jobId]),
        () => client.cancel(jobId),
        () => client.forget(jobId),
      ])
        await expect(act()).rejects.toMatchObject(refusal);
    },
  );

  test("runs a job once, however often it is sent", async () => {
    const client = open();
    for (let copies = 0; copies < 3; copies += 1) await client.submit(aJob());
    await client.run();
    expect(client.submitted).toHaveLength(3);
    expect(client.asked).toHaveLength(1);
    expect(await client.replies(["j-1"])).toMatchObject([{ kind: "replied" }]);
  });

  test("parks another job under the same id", async () => {
    const client = open();
    await client.submit(aJob());
    await client.submit(aJob({ model: "smart-text" }));
    await client.run();
    expect(client.parked).toMatchObject([{ reason: "job_id_reused" }]);
  });

  test("never gives a job the answer of another with its id, if it is asked by the job", async () => {
    const client = open();
    const others = aJob({ model: "smart-text" });
    await client.submitBatch([aJob(), others]);
    expect(await client.waitForReply(others)).toEqual({ kind: "conflict" });
    expect(await client.waitForReply(aJob({ metadata: { k: "v" } }))).toMatchObject({ kind: "replied" });
    expect(await client.replies([aJob(), others, "j-1", "nobodys"])).toMatchObject([
      { jobId: "j-1", kind: "replied" },
      { jobId: "j-1", kind: "conflict" },
      { jobId: "j-1", kind: "replied" },
      { jobId: "nobodys", kind: "open" },
    ]);
  });

  test("knows a job by its content, big params, a refusal of the worker's and a cancel before it came among them", async () => {
    const client = open(hello, config);
    const big = { messages: [{ role: "user" as const, content: [{ text: "a".repeat(1_500_000) }] }] };
    const jobs = [
      { jobId: "j-1", model: "fast-text", op: "converse", params: big } as const,
      aJob({ jobId: "j-2", replyTo: { eventBus: "nobodys" } }),
      aJob({ jobId: "j-3" }),
    ];
    await client.cancel("j-3");
    await client.submitBatch(jobs);
    await client.run();
    expect(await client.replies(jobs)).toMatchObject([
      { reply: { ok: true } },
      { reply: { error: { code: "invalid_envelope" } } },
      { reply: { error: { code: "cancelled" } } },
    ]);
  });

  test("refuses to wait for a job that has a fault", async () => {
    await expect(open().waitForReply(aJob({ model: "" }))).rejects.toMatchObject({
      name: "JobRefused",
      field: "model",
    });
    expect(await open().replies([aJob({ model: "" }), aJob()])).toMatchObject([
      { jobId: "j-1", kind: "refused", fault: { field: "model" } },
      { jobId: "j-1", kind: "open" },
    ]);
  });

  test("takes params that are too big for a message", async () => {
    const client = open();
    const big = { messages: [{ role: "user" as const, content: [{ text: "a".repeat(1_500_000) }] }] };
    await client.submit({ jobId: "j-1", model: "fast-text", op: "converse", params: big });
    expect(await client.waitForReply("j-1")).toMatchObject({ reply: { ok: true } });
    expect(client.asked).toMatchObject([{ params: big }]);
  });

  test("announces a reply", async () => {
    const client = open();
    await client.submit(aJob({ replyTo: { sns: "arn:aws:sns:us-east-1:123456789012:done" } }));
    await client.run();
    expect(client.announced).toMatchObject([{ to: { kind: "sns" }, reply: expect.stringContaining("Hello, Ada.") }]);
  });

  test("cancels a job that nobody waits for yet, and forgets it", async () => {
    const client = open();
    await client.submit(aJob());
    expect(await client.cancel("j-1")).toEqual({ kind: "cancelled" });
    await client.run();
    expect(client.asked).toEqual([]);
    expect(await client.forget("j-1")).toEqual({ kind: "forgotten" });
  });

  test.each(["constructor", "toString", "hasOwnProperty", "valueOf@toString", "constructor@constructor"])(
    "lets a job name the model %s like every other model",
    async (model) => {
      const client = open();
      await client.submit(aJob({ model, fallback: ["toString", "constructor@valueOf"] }));
      expect(await client.waitForReply("j-1")).toMatchObject({ reply: { ok: true } });
    },
  );

  test("has the rules of its config: limits, fallback and what a model is", async () => {
    const client = open(
      ({ target: at }) => (at === "west" ? new ModelError("AccessDeniedException", { status: 403 }) : "Hello."),
      config,
    );
    await client.submit(aJob({ model: "fast-text@west" }));
    expect(await client.waitForReply("j-1")).toMatchObject({ reply: { meta: { target: "east", fallbackUsed: true } } });
    expect(client.asked.map((asked) => asked.target)).toEqual(["west", "east"]);
    await client.submit(aJob({ jobId: "j-2", model: "fats-text", lane: "rt" }));
    await client.run();
    expect(await client.replies(["j-2"])).toMatchObject([{ reply: { error: { code: "model_not_configured" } } }]);
  });
});

describe("its time", () => {
  test("stands still until somebody waits", async () => {
    const client = open();
    await client.submit(aJob());
    expect(client.asked).toEqual([]);
    expect(client.nowMs()).toBe(t0);
  });

  test("costs none: a job is tried again until it is answered", async () => {
    let asked = 0;
    const client = open(() =>
      ++asked <= 8 ? new ModelError("ThrottlingException", { status: 429, retryAfterS: 600 }) : "Hello.",
    );
    await client.submit(aJob());
    await client.run();
    expect(await client.replies(["j-1"])).toMatchObject([
      { reply: { ok: expect.any(Boolean), meta: { attempts: asked } } },
    ]);
    expect(client.nowMs() - t0).toBeGreaterThan(600_000);
  });

  test("passes by as much as it is told, with all that happens meanwhile", async () => {
    const client = createTestClient({ answer: hello, latencyMs: 5_000, startMs: t0 });
    await client.submit(aJob());
    await client.pass(4_999);
    expect(await client.replies(["j-1"])).toMatchObject([{ kind: "open" }]);
    await client.pass(1);
    expect(await client.replies(["j-1"])).toMatchObject([{ kind: "replied" }]);
    expect(client.nowMs()).toBe(t0 + 5_000);
  });

  test("runs out for who waits too short, and goes on for who waits again", async () => {
    const client = createTestClient({ answer: hello, latencyMs: 5_000, startMs: t0 });
    await client.submit(aJob());
    expect(await client.waitForReply("j-1", { timeoutMs: 1_000 })).toMatchObject({ kind: "timeout" });
    expect(client.nowMs()).toBe(t0 + 1_000);
    expect(await client.waitForReply("j-1")).toMatchObject({ kind: "replied" });
  });

  test("does not pass while an answer is being made", async () => {
    const client = open(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return "Hello.";
    });
    await client.submit(aJob());
    expect(await client.waitForReply("j-1")).toMatchObject({ reply: { ok: true, meta: { providerMs: 0 } } });
  });

  test("is its own under a test runner's fake timers", async () => {
    vi.useFakeTimers();
    try {
      const client = open();
      await client.submit(aJob());
      expect(await client.waitForReply("j-1")).toMatchObject({ kind: "replied" });
      await client.run();
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([Infinity, Number.MAX_SAFE_INTEGER])(
    "does not run on for ever for who waits %d ms in vain",
    async (timeoutMs) => {
      const client = open();
      await client.submit(aJob());
      await expect(client.waitForReply("never", { timeoutMs })).rejects.toThrow("nothing is left to happen");
      expect(await client.waitForReply("j-1", { timeoutMs })).toMatchObject({ kind: "replied" });
    },
  );

  test("goes on for who waits without end for a job that is sent meanwhile, and for one that is tried for hours", async () => {
    const throttled = new ModelError("ThrottlingException", { status: 429, retryAfterS: 600 });
    const client = open(() => (client.nowMs() < t0 + 6 * 3_600_000 ? throttled : "Hello."));
    const waited = client.waitForReply("j-1", { timeoutMs: Infinity });
    await client.pass(60_000);
    await client.submit(aJob({ lane: "bulk" }));
    expect(await waited).toMatchObject({ kind: "replied" });
  });

  test("is one for all who wait", async () => {
    const client = createTestClient({ answer: hello, latencyMs: 2_000, startMs: t0, config });
    const ids = ["j-1", "j-2", "j-3"];
    await client.submitBatch(ids.map((jobId) => aJob({ jobId })));
    const waited = await Promise.all(ids.map((jobId) => client.waitForReply(jobId)));
    expect(waited.map(({ kind }) => kind)).toEqual(["replied", "replied", "replied"]);
    expect(client.nowMs()).toBeLessThan(t0 + 60_000);
  });

  test("is the same for the same seed", async () => {
    const story = async () => {
      let asked = 0;
      const client = open(() => (++asked < 4 ? new ModelError("InternalServerException") : "Hello."));
      await client.submit(aJob());
      await client.run();
      return client.nowMs() - t0;
    };
    const first = await story();
    expect(first).toBeGreaterThan(0);
    expect(await story()).toBe(first);
  });
});

describe("an answer", () => {
  test("that throws a failure of the model is one", async () => {
    const client = open(() => {
      throw new ModelError("ValidationException", { status: 400 });
    });
    await client.submit(aJob());
    expect(await client.waitForReply("j-1")).toMatchObject({ reply: { ok: false, error: { code: "provider_error" } } });
  });

  test("that throws anything else is the test's own mistake, and is thrown to who waits", async () => {
    const client = open(() => {
      throw new RangeError("my own mistake");
    });
    await client.submit(aJob());
    await expect(client.waitForReply("j-1")).rejects.toThrow("my own mistake");
    await expect(client.run()).rejects.toThrow("my own mistake");
  });
});
