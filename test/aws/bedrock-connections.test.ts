import { once } from "node:events";
import { createServer as createPlainServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { Server, Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { bedrockModels } from "../../lib/aws/bedrock.ts";
import { ask, keys } from "../contract/models-kit.ts";
import * as certificate from "./localhost-certificate.ts";

const trusted = getCACertificates();
const opened: Server[] = [];
const sockets: Socket[] = [];
/** What has come of requests, when all of them are over. */
let arrived = 0;
afterEach(() => {
  setDefaultCACertificates(trusted);
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of opened.splice(0)) server.close();
  arrived = 0;
});

async function open(server: Server): Promise<number> {
  opened.push(server);
  server.on("connection", (socket: Socket) => void sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** A server that reads what comes, and ends the connection at the first of it. */
function secure(cert: string): Server {
  const server = createSecureServer({ cert, key: certificate.key });
  server.on("secureConnection", (socket: Socket) =>
    socket.on("data", (chunk: Buffer) => {
      arrived += chunk.length;
      socket.destroy();
    }),
  );
  return server;
}

const failureAt = async (endpoint: string, connectMsMax = 2_000) => {
  const models = bedrockModels({ endpoint, credentials: keys, connectMsMax });
  try {
    const answer = await ask(models, { op: "converse_stream" });
    return answer.kind === "failed" ? answer.error : undefined;
  } finally {
    models.close();
  }
};

const closedPort = async (): Promise<number> => {
  const server = createTcpServer();
  const port = await open(server);
  await new Promise((done) => server.close(done));
  return port;
};
const silent = () => open(createTcpServer());
const endsAtOnce = () => open(createTcpServer((socket) => socket.end()));
const resetsAtOnce = () => open(createTcpServer((socket) => socket.resetAndDestroy()));

const rows: [says: string, endpoint: () => Promise<string>, code: RegExp][] = [
  ["a closed port", async () => `http://127.0.0.1:${await closedPort()}`, /^ECONNREFUSED$/],
  ["a closed port of TLS", async () => `https://127.0.0.1:${await closedPort()}`, /^ECONNREFUSED$/],
  [
    "a closed port by a name of several addresses",
    async () => `https://localhost:${await closedPort()}`,
    /^(?:ECONNREFUSED|EADDRNOTAVAIL)$/,
  ],
  ["a name without an address", async () => "https://nowhere.invalid", /^(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT)$/],
  [
    "an address to which there is no way",
    async () => "http://192.0.2.1",
    /^(?:E(?:NET|HOST)UNREACH|ECONNREFUSED|ETIMEDOUT)$/,
  ],
  ["silence where TLS should begin", async () => `https://127.0.0.1:${await silent()}`, /^ETIMEDOUT$/],
  ["an end where TLS should begin", async () => `https://127.0.0.1:${await endsAtOnce()}`, /^ECONNRESET$/],
  ["a reset where TLS should begin", async () => `https://127.0.0.1:${await resetsAtOnce()}`, /^ECONNRESET$/],
  [
    "a port that speaks no TLS",
    async () => `https://127.0.0.1:${await open(createPlainServer())}`,
    /^(?:EPROTO|ERR_SSL_\w+)$/,
  ],
  [
    "a certificate that nobody trusts",
    async () => `https://localhost:${await open(secure(certificate.good))}`,
    /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
  ],
  [
    "a certificate for another name",
    async () => {
      setDefaultCACertificates([certificate.good]);
      return `https://127.0.0.1:${await open(secure(certificate.good))}`;
    },
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  ],
  [
    "a certificate that has expired",
    async () => {
      setDefaultCACertificates([certificate.expired]);
      return `https://localhost:${await open(secure(certificate.expired))}`;
    },
    /^CERT_HAS_EXPIRED$/,
  ],
];
test.each(rows)("nothing is sent to %s", async (_says, endpoint, code) => {
  const error = await failureAt(await endpoint(), 300);
  expect(error).toMatchObject({ code: expect.stringMatching(code), unsent: true });
  expect(error?.status).toBeUndefined();
  expect(arrived).toBe(0);
});

test("what breaks once a connection stands may have been sent", async () => {
  setDefaultCACertificates([certificate.good]);
  const error = await failureAt(`https://localhost:${await open(secure(certificate.good))}`);
  expect(error).toMatchObject({ code: "ECONNRESET" });
  expect(error).not.toHaveProperty("unsent");
  expect(arrived).toBeGreaterThan(0);
});

test("so may what goes over a connection that was kept from the request before", async () => {
  const server = createPlainServer((request, response) => {
    const ends = arrived > 0;
    arrived += 1;
    request.resume().on("end", () => (ends ? request.socket.destroy() : response.writeHead(500).end("{}")));
  });
  const models = bedrockModels({ endpoint: `http://127.0.0.1:${await open(server)}`, credentials: keys });
  expect(await ask(models)).toMatchObject({ error: { status: 500 } });
  const broken = await ask(models);
  expect(broken).toMatchObject({ kind: "failed", error: { code: "ECONNRESET" } });
  expect(broken).not.toMatchObject({ error: { unsent: true } });
  expect(sockets).toHaveLength(1);
  models.close();
});

test("a bound on connecting bounds nothing but that", async () => {
  const server = createPlainServer((request, response) => {
    request.resume();
    setTimeout(() => response.writeHead(500).end("{}"), 150);
  });
  expect(await failureAt(`http://127.0.0.1:${await open(server)}`, 50)).toMatchObject({ status: 500 });
});
