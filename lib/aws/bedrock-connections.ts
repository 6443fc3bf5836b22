import { Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { Duplex } from "node:stream";

/**
 * Errors of connections that did not come about: a port that is closed, a name without an address, a certificate that
 * nobody trusts. Node holds a request back until its connection stands, so not a byte of it has left. The socket knows that
 * for certain; codes and messages do not, for TLS has errors before that moment and after.
 */
const beforeReady = new WeakSet<object>();

/** Whether this error, of a request over {@link connections}, came before any of the request was sent. */
export function isUnsent(error: unknown): boolean {
  return typeof error === "object" && error !== null && beforeReady.has(error);
}

export interface Connections {
  readonly httpAgent: PlainAgent;
  readonly httpsAgent: SecureAgent;
}

/**
 * Pools of connections that are kept alive. `connectMsMax`: how long one may take to stand, its name's look-up and its TLS
 * handshake included; the SDK's own bound ends before the handshake, in which a server may be silent too.
 */
export function connections(connectMsMax: number): Connections {
  // A lease is the right to a request in flight: a socket pool must never make its holder wait.
  const options = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  return {
    httpAgent: watching(new PlainAgent(options), "connect", connectMsMax),
    httpsAgent: watching(new SecureAgent(options), "secureConnect", connectMsMax),
  };
}

function watching<Agent extends PlainAgent>(agent: Agent, ready: string, connectMsMax: number): Agent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, onSocket) => watched(connect(options, onSocket), ready, connectMsMax);
  return agent;
}

function watched<Socket extends Duplex | null | undefined>(
  socket: Socket,
  ready: string,
  connectMsMax: number,
): Socket {
  const late = (): void => {
    const error = new Error(`no connection within ${connectMsMax} ms`);
    socket?.destroy(Object.assign(error, { code: "ETIMEDOUT", syscall: "connect" }));
  };
  const timer = setTimeout(late, connectMsMax);
  socket?.once("error", noteUnsent);
  socket?.once("close", () => clearTimeout(timer));
  socket?.once(ready, () => {
    clearTimeout(timer);
    socket.off("error", noteUnsent);
  });
  return socket;
}

function noteUnsent(error: object): void {
  beforeReady.add(error);
}
