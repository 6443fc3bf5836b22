import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escaped } from "../../lib/aws/escape.ts";

describe("a body for the local queue", () => {
  test("has no character beyond U+FFFF", () =>
    expect(escaped('{"a":"wave 👋🏽"}')).toBe('{"a":"wave \\ud83d\\udc4b\\ud83c\\udffd"}'));

  test("means what it meant", () =>
    fc.assert(
      fc.property(fc.json({ stringUnit: "binary" }), (json) => {
        const body = escaped(json);
        expect(JSON.parse(body)).toEqual(JSON.parse(json));
        expect(body).not.toMatch(/[\u{10000}-\u{10FFFF}]/u);
      }),
    ));
});
