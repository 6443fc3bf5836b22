import { noUsage } from "../core/attempt.ts";
import type { Usage } from "../core/attempt.ts";
import { countable, countedAs } from "../core/count-tokens.ts";
import type { ProviderError } from "../core/failure.ts";
import type { JsonObject } from "../core/json.ts";
import type { Clock, ModelAnswer, ModelRequest, Models } from "../ports.ts";
import { converseBody, countOf, invokeBody, makeAnswer } from "./bedrock-answer.ts";
import { faultOf, playScript, waitHeaders } from "./bedrock-play.ts";
import type { Play, Turn } from "./bedrock-play.ts";
import { answerIn, scriptFrom } from "./bedrock-script.ts";
import type { Answer, Faulty, ScriptText } from "./bedrock-script.ts";

export interface ScriptedModels extends Models {
  readonly play: Play;
  /** Throws with the places of what is wrong. */
  load(written: ScriptText): void;
}

/** Bedrock in memory, on the World's clock: the scripts of the stand-in, without a wire. */
export function scriptedModels(clock: Clock, written: ScriptText = {}): ScriptedModels {
  const play = playScript(scriptFrom(written), clock.nowMs());
  return {
    play,
    load: (next) => play.load(scriptFrom(next), clock.nowMs()),
    async ask(request, signal) {
      signal.throwIfAborted();
      const { step, op, jobId } = request;
      const turn = play.arrive(
        { op, modelId: step.modelId, region: step.region, ...(jobId === undefined ? {} : { jobId }) },
        clock.nowMs(),
      );
      try {
        const outcome = await meet(turn, request, clock, signal);
        turn.done(clock.nowMs(), makeAnswer(request.params, answerIn(turn.effect)));
        return outcome;
      } catch (reason) {
        turn.left(clock.nowMs());
        throw reason;
      }
    },
    async countTokens({ step, op, params }, signal) {
      const modelId = countedAs(step);
      if (modelId === undefined) return { kind: "unknown", name: "ModelNotNamed" };
      if (signal.aborted) return { kind: "unknown", name: "Aborted" };
      const turn = play.arrive({ op: "count_tokens", modelId, region: step.region }, clock.nowMs());
      try {
        // A count comes in one piece, whatever the operation it is for.
        const met = await meet(turn, { step, op: "converse", params }, clock, signal);
        turn.done(clock.nowMs(), { inputTokens: 0, outputTokens: 0 });
        if (met.kind === "failed") return { kind: "unknown", name: met.error.name };
        return { kind: "counted", tokens: countOf(countable(op, params), answerIn(turn.effect)) };
      } catch {
        turn.left(clock.nowMs());
        return { kind: "unknown", name: "Aborted" };
      }
    },
  };
}

async function meet(
  { effect, latencyMs }: Turn,
  request: ModelRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const pass = async (ms: number): Promise<void> => {
    if (ms > 0) await clock.sleep(ms, signal);
    signal.throwIfAborted();
  };
  await pass(latencyMs);
  switch (effect.kind) {
    case "answer":
      return answered(request, effect, latencyMs);
    case "trickle":
      await pass(effect.everyMs * effect.pieces);
      return answered(request, effect, latencyMs);
    case "fail":
      return failed(faultFacts(effect));
    case "stream-error":
      return failed(request.op === "converse_stream" ? eventFacts(effect) : faultFacts(effect));
    case "hang":
      return aborted(signal);
    case "reset":
      return failed(brokenConnection);
    case "malformed":
      return failed(unreadable);
    case "truncated":
      return failed(request.op === "converse_stream" ? endedEarly : brokenConnection);
  }
}

/** Facts that the SDK's client reports for each; the contract suite holds both sides to them. */
const brokenConnection: ProviderError = { name: "ECONNRESET", code: "ECONNRESET", message: "aborted" };
const unreadable: ProviderError = { name: "UnreadableResponse", message: "the response is not JSON" };
const endedEarly: ProviderError = {
  name: "StreamEndedEarly",
  code: "ERR_STREAM_PREMATURE_CLOSE",
  message: "the stream ended before messageStop",
};

function faultFacts(effect: Faulty): ProviderError {
  const { status, name, message } = faultOf(effect.error);
  const headers = waitHeaders(effect);
  return {
    ...eventFacts({ ...effect, error: { status, name, message } }),
    status,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(effect.expectedQueueDelayInMs === undefined ? {} : { expectedQueueDelayMs: effect.expectedQueueDelayInMs }),
  };
}

/** An event has no status and no headers of its own. */
function eventFacts({ error, originalStatusCode }: Faulty): ProviderError {
  const { name, message } = faultOf(error);
  return { name, message, ...(originalStatusCode === undefined ? {} : { originalStatus: originalStatusCode }) };
}

function failed(error: ProviderError): ModelAnswer {
  return { kind: "failed", error, usage: noUsage };
}

function answered({ op, step, params }: ModelRequest, effect: Answer, latencyMs: number): ModelAnswer {
  const made = makeAnswer(params, effect);
  const output: JsonObject =
    op === "invoke_model" ? (effect.body ?? invokeBody(step.modelId, made)) : converseBody(made, latencyMs);
  const stopReason = output.stop_reason ?? output.stopReason;
  const usage: Usage = { ...noUsage, inputTokens: made.inputTokens, outputTokens: made.outputTokens };
  return { kind: "answered", output, ...(typeof stopReason === "string" ? { stopReason } : {}), usage };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
