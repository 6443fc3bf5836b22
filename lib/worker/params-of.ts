import { isJson, isObject, parseJson } from "../core/json.ts";
import type { JsonObject } from "../core/json.ts";
import { lastTry } from "./in-time.ts";
import type { Run } from "./run.ts";

/** The request of a job: from the message, or from the object that it names. Denied or throttled S3 throws. */
export async function paramsOf(
  run: Run,
): Promise<
  | { readonly kind: "found"; readonly params: JsonObject }
  | { readonly kind: "missing"; readonly why: string }
  | { readonly kind: "no-room" }
> {
  const { params } = run.job;
  if (params.kind === "inline") return { kind: "found", params: params.params };
  const { objects } = run.invocation.worker;
  const object = await lastTry(run.invocation, () => objects.get(run.delivery, params));
  if (object.kind === "no-room") return object;
  if (object.kind === "missing") return { kind: "missing", why: "does not exist, or is bigger than any request" };
  const value = parseJson(object.text);
  return isObject(value) && isJson(value)
    ? { kind: "found", params: value }
    : { kind: "missing", why: "is not a JSON object" };
}
