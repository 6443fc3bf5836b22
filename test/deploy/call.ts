/** Calls of services whose SDK this repository does without. MiniStack believes the name of its own key unsigned. */
import type { Ministack } from "./ministack.ts";

/** A service that speaks the Query protocol: its answer is XML. */
export async function query(
  aws: Ministack,
  service: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return await send(aws, service, "/", new URLSearchParams(parameters), {});
}

/** One that speaks JSON. */
export async function json<Answer>(aws: Ministack, service: string, target: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
  return JSON.parse(await send(aws, service, "/", JSON.stringify(body), headers));
}

/** @throws what the function threw. */
export async function invoke(aws: Ministack, name: string): Promise<void> {
  await send(aws, "lambda", `/2015-03-31/functions/${name}/invocations`, "{}", {});
}

async function send(
  aws: Ministack,
  service: string,
  path: string,
  body: string | URLSearchParams,
  more: Readonly<Record<string, string>>,
): Promise<string> {
  const credential = `${aws.env["AWS_ACCESS_KEY_ID"]}/20260101/${aws.env["AWS_REGION"]}/${service}/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=0`;
  const response = await fetch(`${aws.endpoint}${path}`, { method: "POST", headers: { authorization, ...more }, body });
  const text = await response.text();
  if (!response.ok || response.headers.has("x-amz-function-error")) throw new Error(`${service}: ${text}`);
  return text;
}
