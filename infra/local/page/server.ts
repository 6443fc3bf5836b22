/** The page on loopback: nobody but a browser on this machine, at this very address, is answered. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { isJobId } from "../../../lib/core/envelope.ts";
import type { Config } from "../../../lib/core/config.ts";
import { errorName } from "../../../lib/core/error-name.ts";
import { markup } from "../../../lib/view/markup.ts";
import type { Markup } from "../../../lib/view/markup.ts";
import { remedyFor } from "../../../lib/view/remedy.ts";
import { Fault } from "../../../lib/terminal/fault.ts";
import { script, styles } from "./assets.ts";
import { jobInside, overviewInside, parkedInside, wholePage } from "./document.ts";
import { refusalOf } from "./guard.ts";
import type { History } from "./history.ts";
import type { Measured } from "./measured.ts";
import { Refusal } from "./watch.ts";
import type { Watching } from "./watch.ts";

export interface Page {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface PageFacts {
  readonly config: Config;
  readonly watching: Watching;
  readonly history: History;
  readonly measured: Measured;
}

const host = "127.0.0.1";
/** So many ports are tried, one after the other. */
const portsMax = 20;

const headers = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** On this port, or on the next one that is free; 0: on any. @throws Fault when there is none. */
export async function openPage(port: number, facts: PageFacts): Promise<Page> {
  const server = createServer((request, response) => {
    answer(request, response, facts).catch((error: unknown) => {
      const name = errorName(error);
      send(response, 500, "text/plain", `It could not be done: ${name}. ${remedyFor(name)}`);
    });
  });
  const found = await listen(server, port);
  return {
    port: found,
    url: `http://${host}:${found}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, port: number): Promise<number> {
  const last = port === 0 ? 0 : Math.min(65_535, port + portsMax - 1);
  for (let next = port; ; next += 1) {
    const refused = await listenOn(server, next);
    if (refused === undefined) return addressOf(server).port;
    if (refused.code !== "EADDRINUSE" || next >= last) throw noPort(refused.code, port, next);
  }
}

/** `first` and `last`: the ports that were tried. */
export function noPort(code: string | undefined, first: number, last: number): Fault {
  const tried = first === last ? `port ${first}` : `any port from ${first} to ${last}`;
  return new Fault(`the page cannot be at ${tried} (${code}); name another with --port N, or go without by --no-page`);
}

function listenOn(server: Server, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once("error", resolve);
    server.listen(port, host, () => {
      server.off("error", resolve);
      resolve(undefined);
    });
  });
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the page listens on no port");
  return address;
}

async function answer(request: IncomingMessage, response: ServerResponse, facts: PageFacts): Promise<void> {
  const refused = refusalOf(request, request.socket.localPort ?? 0);
  if (refused !== undefined) return send(response, refused.status, "text/plain", refused.message);
  const url = urlOf(request.url ?? "/");
  if (url === undefined) return send(response, 404, "text/plain", nowhere);
  if (request.method === "POST") {
    const form = await bodyOf(request);
    if (form === undefined) {
      // What is left of it must have come before the connection can be used again.
      request.resume();
      return send(response, 413, "text/plain", tooLong);
    }
    return act(url.pathname, form, request, response, facts.watching);
  }
  switch (url.pathname) {
    case "/page.css":
      return send(response, 200, "text/css", styles);
    case "/page.js":
      return send(response, 200, "text/javascript", script);
  }
  const inside = await insideOf(url, facts);
  if (inside === undefined) return send(response, 404, "text/plain", nowhere);
  if (url.searchParams.get("part") === "main") return send(response, 200, "text/html", inside.text);
  const jobId = url.pathname === "/job" ? (url.searchParams.get("id") ?? "") : "";
  const said = notices.get(url.searchParams.get("said") ?? "");
  return send(response, 200, "text/html", wholePage(jobId === "" ? "Sluice" : `${jobId} · Sluice`, inside, said));
}

const tooLong = "Nothing was done: the form is longer than any of this page; use its buttons";
const nowhere = "There is no such page; see /";

/** A path of this page: what looks like the name of another host is a path here too. */
function urlOf(path: string): URL | undefined {
  const whole = `http://${host}${path}`;
  return path.startsWith("/") && URL.canParse(whole) ? new URL(whole) : undefined;
}

/** Reads what is shown; whatever keeps it from being read is shown instead, with the remedy. */
async function insideOf(url: URL, facts: PageFacts): Promise<Markup | undefined> {
  const { watching, history, measured, config } = facts;
  try {
    switch (url.pathname) {
      case "/":
        return overviewInside(await watching.overview(), measured, history, config);
      case "/job": {
        const jobId = url.searchParams.get("id") ?? "";
        const row = isJobId(jobId) ? await watching.job(jobId) : undefined;
        return jobInside(jobId, row, history.of(jobId), await watching.overview());
      }
      case "/parked": {
        const { parked } = await watching.overview();
        return parkedInside(await watching.parked(), (parked?.visible ?? 0) + (parked?.hidden ?? 0));
      }
      default:
        return undefined;
    }
  } catch (error) {
    const name = errorName(error);
    return markup`<p class="notice bad" role="alert">What is open could not be read: ${name}. ${remedyFor(name)}</p>`;
  }
}

type Act = (watching: Watching, form: URLSearchParams) => Promise<string>;

const acts: ReadonlyMap<string, Act> = new Map([
  ["/cancel", (watching, form) => watching.cancel(form.get("jobId") ?? "")],
  ["/pause", (watching, form) => watching.pause(form.get("name") ?? "")],
  ["/resume", (watching, form) => watching.resume(form.get("name") ?? "")],
  ["/rerun", (watching, form) => watching.rerun(form.get("messageId") ?? "")],
]);

async function act(
  path: string,
  form: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
  watching: Watching,
): Promise<void> {
  const perform = acts.get(path);
  if (perform === undefined) return send(response, 404, "text/plain", "There is no such button; see /");
  const [status, said] = await perform(watching, form).then(
    (done) => [200, done] as const,
    (error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      return [409, `Nothing was done: ${error.message}.`] as const;
    },
  );
  if (request.headers.accept === "text/plain") return send(response, status, "text/plain", said);
  // A browser without script is led back to where it was.
  response.writeHead(303, { ...headers, location: backTo(request.headers.referer, said) }).end();
}

/** The way back, on this very host: a browser takes `//name` for another one. */
function backTo(referer: string | undefined, said: string): string {
  const back = new URL(referer !== undefined && URL.canParse(referer) ? referer : `http://${host}/`);
  back.searchParams.set("said", keepNotice(said));
  return back.pathname.replace(/^\/+/, "/") + back.search;
}

/** What buttons have said, for a browser without script: by name, so that no link from elsewhere can say anything here. */
const notices = new Map<string, string>();
const noticesMax = 50;

function keepNotice(said: string): string {
  const id = randomUUID();
  notices.set(id, said);
  const [oldest] = notices.keys();
  if (notices.size > noticesMax && oldest !== undefined) notices.delete(oldest);
  return id;
}

const bodyBytesMax = 4_096;

/** Undefined: it is longer than any form of ours. */
async function bodyOf(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > bodyBytesMax) return undefined;
    chunks.push(part);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { ...headers, "content-type": `${type}; charset=utf-8` }).end(text);
}
