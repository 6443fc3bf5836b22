import { expect, test } from "vitest";
import { isJson, sqsJson } from "../../lib/core/json.ts";

test.each<[says: string, value: unknown, is: boolean]>([
  ["a field without a value is left out of JSON, and harms none", { a: undefined }, true],
  ["an object without a prototype is one", Object.assign(Object.create(null), { a: 1 }), true],
  ["an object of a class is none", new Date(0), false],
])("%s", (_says, value, is) => expect(isJson(value)).toBe(is));

test("SQS is spared all of what it does not take, and the text means the same", () => {
  const value = "a\uFFFEb\uFFFFc\uFFFEd\uFFFF";
  const text = sqsJson(JSON.stringify(value));
  expect(text).toBe(String.raw`"a\ufffeb\uffffc\ufffed\uffff"`);
  expect(JSON.parse(text)).toBe(value);
});
