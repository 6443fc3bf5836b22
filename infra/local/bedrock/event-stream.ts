import { crc32 } from "node:zlib";

/**
 * One message in AWS's event-stream framing, written from its description rather than with the SDK's own codec, so that
 * the two check each other: lengths, checksum of the prelude, headers, payload, checksum of it all.
 */
function frame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + head.length + body.length + 4, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, head, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, checksum]);
}

export function eventFrame(type: string, payload: object): Buffer {
  return frame(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify(payload),
  );
}

const modelled = new Set([
  "InternalServerException",
  "ModelStreamErrorException",
  "ServiceUnavailableException",
  "ThrottlingException",
  "ValidationException",
]);

/** An error after the 200 has gone out: an exception that ConverseStream knows, or the framing's own error message. */
export function errorFrame(name: string, payload: { readonly message: string }): Buffer {
  if (!modelled.has(name)) {
    return frame({ ":message-type": "error", ":error-code": name, ":error-message": payload.message }, "");
  }
  const type = `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
  return frame(
    { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" },
    JSON.stringify(payload),
  );
}

const stringType = 7;

function header(name: string, value: string): Buffer {
  const text = Buffer.from(value);
  const start = Buffer.alloc(1 + name.length + 3);
  start.writeUInt8(name.length, 0);
  start.write(name, 1, "ascii");
  start.writeUInt8(stringType, 1 + name.length);
  start.writeUInt16BE(text.length, 2 + name.length);
  return Buffer.concat([start, text]);
}
