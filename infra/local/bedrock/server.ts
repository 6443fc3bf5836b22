import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { playScript } from "../../../lib/memory/bedrock-play.ts";
import type { BedrockRecord, Play, Turn } from "../../../lib/memory/bedrock-play.ts";
import { answerIn, readScript, scriptFrom } from "../../../lib/memory/bedrock-script.ts";
import type { ScriptText } from "../../../lib/memory/bedrock-script.ts";
import { readRequest } from "./request.ts";
import type { Asked } from "./request.ts";
import { errorReply, perform, wholeAnswer } from "./reply.ts";
import type { Reply, Wire } from "./reply.ts";

export interface BedrockStandIn {
  readonly endpoint: string;
  record(): BedrockRecord;
  /** Throws with the places of what is wrong. */
  load(written: ScriptText): void;
  close(): Promise<void>;
}

/**
 * A stand-in for Bedrock on 127.0.0.1: Converse, ConverseStream, InvokeModel and CountTokens over HTTP/1.1, in their real
 * wire format, scripted (`lib/memory/bedrock-script.ts`). It learns the region from the signature's credential scope and
 * the job from the request metadata. `GET /__record` is the truth about every call, `POST /__script` loads a script.
 */
export async function startBedrock(
  options: { readonly script?: ScriptText; readonly port?: number } = {},
): Promise<BedrockStandIn> {
  const play = playScript(scriptFrom(options.script ?? {}), Date.now());
  const server = createServer((request, response) => {
    serve(request, response, play).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  // An idle socket that the server closes first is the client's ECONNRESET: here that only ever happens by script.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: endpointOf(server),
    record: () => play.record(),
    load: (written) => play.load(scriptFrom(written), Date.now()),
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function endpointOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the stand-in has no port");
  return `http://127.0.0.1:${address.port}`;
}

async function serve(request: IncomingMessage, response: ServerResponse, play: Play): Promise<void> {
  const body = await textOf(request);
  if (request.url?.startsWith("/__") === true) return control(request, body, response, play);

  const asked = readRequest(request, body);
  if (asked.kind === "refused") return send(response, errorReply(asked));
  const turn = play.arrive(asked.call, Date.now());
  await attend(response, asked, turn);
}

/** Sees to it that the record gets one end for each call, whoever ends it. */
async function attend(response: ServerResponse, asked: Asked, turn: Turn): Promise<void> {
  const whole = wholeAnswer(asked, answerIn(turn.effect), turn.latencyMs);
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort();
    turn.left(Date.now());
  });
  const wire: Wire = {
    wait: (ms) => sleep(ms, undefined, { signal: left.signal, ref: false }),
    gone: async () => void (left.signal.aborted || (await once(left.signal, "abort"))),
    head: (status, headers) => response.writeHead(status, headers).flushHeaders(),
    write: (chunk) => void response.write(chunk),
    cut: () => void response.socket?.resetAndDestroy(),
    end: (chunk) => void response.end(chunk),
    done: () => turn.done(Date.now(), whole.made),
  };
  try {
    await perform(asked, turn, whole, wire);
  } catch (error) {
    if (!left.signal.aborted) throw error;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** For loopback names only: a web page that has its own name resolve to 127.0.0.1 stays outside. */
function control(request: IncomingMessage, body: string, response: ServerResponse, play: Play): void {
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? ""))
    return send(response, plain(403, { problems: ["loopback only"] }));
  if (request.method === "GET" && request.url === "/__record") return send(response, plain(200, play.record()));
  if (request.method !== "POST" || request.url !== "/__script")
    return send(response, plain(404, { problems: ["no such control"] }));
  const read = readScript(jsonOrNothing(body));
  if (read.kind === "refused") return send(response, plain(400, { problems: read.problems }));
  play.load(read.script, Date.now());
  send(response, plain(200, { loaded: true }));
}

function jsonOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function plain(status: number, body: object): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers).end(body);
}
