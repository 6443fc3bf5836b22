import { expect, test } from "vitest";
import { checkBody, rules } from "./body-rules.ts";
import { giants } from "./giant-bodies.ts";

test.each(rules)("%s", (_says, broken) => expect(broken(100_000)).toBeUndefined(), 600_000);

test.each(giants)("the rules hold for a mebibyte too: %s", (_says, body) =>
  expect(() => checkBody(body)).not.toThrow(),
);
