import { noUsage } from "../core/attempt.ts";
import type { Op } from "../core/config.ts";
import { isJson, isObject } from "../core/json.ts";
import type { JsonObject } from "../core/json.ts";
import { converseBody, invokeBody, makeAnswer } from "../memory/bedrock-answer.ts";
import type { Clock, ModelAnswer, ModelRequest, Models } from "../ports.ts";

/** A request to a model, as a worker sends it. */
export interface Asked {
  readonly jobId: string;
  readonly op: Op;
  readonly params: JsonObject;
  readonly model: string;
  readonly target: string;
  readonly modelId: string;
}

/** The text of an answer; or all of it, as the model's operation answers; or a failure. */
export type TestAnswer = string | object | ModelError;

/** A failure as Bedrock reports it: `new ModelError("ThrottlingException", { status: 429, retryAfterS: 3 })`. Returned or thrown. */
export class ModelError extends Error {
  override readonly name: string;
  readonly status: number;
  readonly retryAfterS: number | undefined;

  constructor(
    name: string,
    more: { readonly status?: number; readonly message?: string; readonly retryAfterS?: number } = {},
  ) {
    super(more.message ?? name);
    this.name = name;
    this.status = more.status ?? 500;
    this.retryAfterS = more.retryAfterS;
  }
}

/** Models that answer as a test says. */
export interface TestModels extends Models {
  readonly asked: readonly Asked[];
  /** Resolves when no answer is being made; rejects with what `answer` threw that was no {@link ModelError}. */
  quiet(): Promise<void>;
}

export function testModels(
  clock: Clock,
  answer: (asked: Asked) => TestAnswer | Promise<TestAnswer>,
  latencyMs: number,
): TestModels {
  const asked: Asked[] = [];
  const making = new Set<Promise<void>>();
  let thrown: { readonly error: unknown } | undefined;

  async function answered(one: Asked): Promise<Answered> {
    try {
      return readable(await answer(one));
    } catch (error) {
      if (error instanceof ModelError) return error;
      thrown ??= { error };
      throw error;
    }
  }

  return {
    asked,

    async ask(request, signal) {
      const { step, op, params, jobId = "" } = request;
      const one = { jobId, op, params, model: step.model, target: step.target, modelId: step.modelId };
      asked.push(one);
      if (latencyMs > 0) await clock.sleep(latencyMs, signal);
      signal.throwIfAborted();
      const answering = answered(one);
      const settled = answering.then(
        () => undefined,
        () => undefined,
      );
      making.add(settled);
      try {
        return modelAnswer(request, await answering, latencyMs);
      } finally {
        making.delete(settled);
      }
    },

    countTokens: async () => ({ kind: "unknown", name: "NotCounted" }),

    async quiet() {
      while (making.size > 0) await Promise.all(making);
      if (thrown !== undefined) throw thrown.error;
    },
  };
}

type Answered = string | JsonObject | ModelError;

function readable(answer: TestAnswer): Answered {
  if (typeof answer === "string" || answer instanceof ModelError) return answer;
  if (isObject(answer) && isJson(answer)) return answer;
  throw new TypeError("answer gave what no model answers; give text, an object of JSON, or a ModelError");
}

function modelAnswer({ op, step, params }: ModelRequest, answer: Answered, latencyMs: number): ModelAnswer {
  if (answer instanceof ModelError) {
    const { name, message, status, retryAfterS } = answer;
    const headers = retryAfterS === undefined ? {} : { headers: { "retry-after": String(retryAfterS) } };
    return { kind: "failed", error: { name, message, status, ...headers }, usage: noUsage };
  }
  const output = typeof answer === "string" ? said(answer) : answer;
  const stopReason = output["stopReason"] ?? output["stop_reason"];
  return {
    kind: "answered",
    output,
    usage: { ...noUsage, inputTokens: tokens(output, "inputTokens"), outputTokens: tokens(output, "outputTokens") },
    ...(typeof stopReason === "string" ? { stopReason } : {}),
  };

  function said(text: string): JsonObject {
    const made = makeAnswer(params, { kind: "answer", content: [{ text }] });
    return op === "invoke_model" ? invokeBody(step.modelId, made) : converseBody(made, latencyMs);
  }
}

function tokens({ usage }: JsonObject, name: string): number {
  const count = isObject(usage) ? usage[name] : undefined;
  return typeof count === "number" ? count : 0;
}
