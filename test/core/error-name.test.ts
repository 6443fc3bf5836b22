import { expect, test } from "vitest";
import { errorName } from "../../lib/core/error-name.ts";

const refused = (name: string, code: unknown) => Object.assign(new Error("connect 127.0.0.1:8000"), { name, code });

const rows: readonly [says: string, error: unknown, name: string][] = [
  ["an error by its class", new RangeError("secret"), "RangeError"],
  ["an error of AWS by its name, whatever code stands beside it", refused("TimeoutError", "ETIMEDOUT"), "TimeoutError"],
  ["a connection that was refused by its code", refused("Error", "ECONNREFUSED"), "ECONNREFUSED"],
  ["one that was tried by several addresses too", refused("AggregateError", "ENOTFOUND"), "ENOTFOUND"],
  ["an error without a class or a code", new Error("secret"), "Error"],
  ["a code that is a text", refused("Error", "A secret of somebody"), "Error"],
  ["a code that only ends as one", refused("Error", "secret ECONNREFUSED"), "Error"],
  ["a code that is one letter", refused("Error", "E"), "Error"],
  ["a code that is too long to be one", refused("Error", "E".repeat(65)), "Error"],
  ["a code that is a number", refused("Error", 7), "Error"],
  ["what is no error by its type", "secret", "string"],
];

test.each(rows)("the log names %s", (_says, error, name) => expect(errorName(error)).toBe(name));
