import { isObject, parseJson } from "./json.ts";
import type { Json } from "./json.ts";
import { ownSentence } from "./reply.ts";

/** What is to be done to forget a finished job's content. */
export type Forgetting =
  /** It was done before. */
  | { readonly kind: "forgotten" }
  | {
      readonly kind: "to-forget";
      /** The reply without its content, as JSON text. */
      readonly left: string;
      /** Where its output is, if that is apart. */
      readonly outputRef?: string;
    };

/**
 * Output and metadata are content, and so are the provider's own words, which may quote the prompt; that the job ended, when,
 * how and at what cost is not, nor what else the error says. What this code does not know may be content, and is left out.
 * `reply`: its JSON text as stored.
 * @throws Error for a reply that is no JSON.
 */
export function forgetting(reply: string, nowMs: number): Forgetting {
  const stored = parseJson(reply);
  if (!isObject(stored))
    throw new Error(
      "the stored reply is no JSON object, so that nobody can tell what is left of it; delete the job's row yourself",
    );
  if (stored["forgottenAtMs"] !== undefined) return { kind: "forgotten" };
  const { jobId, ok, status, error, meta, outputRef } = stored;
  const left = { jobId, ok, status, error: errorLeft(error), meta, metadata: {}, forgottenAtMs: nowMs };
  return {
    kind: "to-forget",
    left: JSON.stringify(left),
    ...(typeof outputRef === "string" ? { outputRef } : {}),
  };
}

function errorLeft(error: Json | undefined) {
  if (!isObject(error)) return undefined;
  const { code, message, kind, retryable, retryAfterMs } = error;
  const sentence = typeof message === "string" ? ownSentence(message) : undefined;
  return { code, message: sentence, kind, retryable, retryAfterMs };
}
