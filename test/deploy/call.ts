/** Calls of services whose SDK this repository does without. */
import { signed } from "./signature.ts";
import type { Keys } from "./signature.ts";

export interface Request {
  readonly service: string;
  /** Default: the service's own in the region. */
  readonly host?: string;
  readonly method?: "GET" | "POST";
  /** Each of its parts percent-encoded. */
  readonly path?: string;
  readonly body?: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An AWS that is called with signed requests: the real one, or whatever stands in for it. */
export interface Caller {
  readonly region: string;
  /** The text of the answer. @throws Refused */
  send(request: Request): Promise<string>;
}

/** What a service answered instead of doing what it was asked for. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;

  constructor(service: string, status: number, text: string) {
    super(`${service} answered ${status}: ${text.slice(0, 1_000)}`);
    this.status = status;
  }
}

const callMsMax = 60_000;

/** `endpoint`: where all services are, if that is not AWS. */
export function callerOf(region: string, keysOf: () => Promise<Keys>, endpoint?: string): Caller {
  return {
    region,
    async send({ service, method = "POST", path = "/", body = "", headers = {}, ...request }) {
      const base = endpoint ?? `https://${request.host ?? `${service}.${region}.amazonaws.com`}`;
      const at = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
      const unsigned = { method, host: new URL(base).host, path, body, headers };
      const response = await fetch(`${base}${path}`, {
        method,
        headers: signed(unsigned, { region, service, at }, await keysOf()),
        signal: AbortSignal.timeout(callMsMax),
        ...(method === "GET" ? {} : { body }),
      });
      const text = await response.text();
      if (!response.ok || response.headers.has("x-amz-function-error"))
        throw new Refused(service, response.status, text);
      return text;
    },
  };
}

/** A service that speaks the Query protocol: its answer is XML. */
export async function query(
  aws: Caller,
  service: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return await aws.send({ service, headers, body: new URLSearchParams(parameters).toString() });
}

/** One that speaks JSON. */
export async function json<Answer>(aws: Caller, service: string, target: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
  return JSON.parse(await aws.send({ service, headers, body: JSON.stringify(body) }));
}

/** What a function answers, as JSON. @throws what it threw. */
export async function invoke(aws: Caller, name: string, event: object = {}): Promise<string> {
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`;
  return await aws.send({ service: "lambda", path, body: JSON.stringify(event) });
}
