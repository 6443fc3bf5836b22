/**
 * AWS's signature, version 4, for services whose SDK this repository does without.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from "node:crypto";

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface Unsigned {
  readonly method: string;
  readonly host: string;
  /** As it is sent: each of its parts is percent-encoded already. */
  readonly path: string;
  readonly body: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Scope {
  readonly region: string;
  readonly service: string;
  /** `20261129T220000Z` */
  readonly at: string;
}

/** The headers of the request, with those that a signature adds. */
export function signed(request: Unsigned, scope: Scope, keys: Keys): Readonly<Record<string, string>> {
  const headers = {
    ...request.headers,
    "x-amz-date": scope.at,
    ...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": keys.sessionToken }),
  };
  return { ...headers, authorization: authorizationOf({ ...request, headers }, scope, keys) };
}

/** Of a request whose headers are all signed, its host too. */
export function authorizationOf({ method, host, path, body, headers }: Unsigned, scope: Scope, keys: Keys): string {
  const all = Object.entries({ ...headers, host }).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const names = all.map(([name]) => name).join(";");
  // Every service but S3 takes the path encoded once more.
  const canonicalPath = path.split("/").map(encodeURIComponent).join("/");
  const lines = all.map(([name, value]) => `${name}:${value.trim()}\n`).join("");
  const canonical = [method, canonicalPath, "", lines, names, hex(body)].join("\n");

  const day = scope.at.slice(0, 8);
  const within = [day, scope.region, scope.service, "aws4_request"];
  const toSign = ["AWS4-HMAC-SHA256", scope.at, within.join("/"), hex(canonical)].join("\n");
  const key = within.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${keys.secretAccessKey}`);
  const signature = hmac(key, toSign).toString("hex");
  const credential = `${keys.accessKeyId}/${within.join("/")}`;
  return `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
