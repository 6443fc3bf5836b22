/** Who is answered: a page in somebody's browser must not be able to reach this one, whatever names its DNS tells. */
import type { IncomingMessage } from "node:http";

export interface Refused {
  readonly status: 403 | 405;
  readonly message: string;
}

/** The part of a request that is looked at. */
export type Asking = Pick<IncomingMessage, "method"> & {
  readonly headers: Readonly<Partial<Record<"host" | "origin" | "sec-fetch-site", string | string[] | undefined>>>;
};

/** A name that was made to point here has another Host; a form of another site has another Origin, or none. */
export function refusalOf({ method, headers }: Asking, port: number): Refused | undefined {
  // HTTP's own port is left out of a Host.
  const names = ["127.0.0.1", "localhost"].flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  const { host, origin, "sec-fetch-site": site } = headers;
  if (typeof host !== "string" || !names.includes(host))
    return { status: 403, message: `This page is at http://127.0.0.1:${port} and answers to no other name.` };
  if (method === "GET" || method === "HEAD") return undefined;
  if (method !== "POST") return { status: 405, message: "Only GET and POST are understood here." };
  if (origin === `http://${host}` && (site === undefined || site === "same-origin")) return undefined;
  return {
    status: 403,
    message: `Only this page's own buttons are obeyed. From a shell, add: -H 'Origin: http://${host}'`,
  };
}
