import { describe, expect, test } from "vitest";
import { features, mayRead, ops, serviceTiers, stepParts } from "../../lib/core/config.ts";
import { a } from "../a.ts";

test("the words of a config are Bedrock's and ours", () => {
  expect(ops).toEqual(["converse", "converse_stream", "invoke_model"]);
  expect(serviceTiers).toEqual(["priority", "default", "flex"]);
  expect(features).toEqual(["tools", "documents", "streaming"]);
});

test.each([
  ["fast-text", { model: "fast-text" }],
  ["fast-text@us-west-2", { model: "fast-text", target: "us-west-2" }],
  ["f@us-west-2", { model: "f", target: "us-west-2" }],
  ["@us-west-2", { model: "", target: "us-west-2" }],
])("the step %s names %o", (step, parts) => expect(stepParts(step)).toEqual(parts));

describe("of what senders name", () => {
  const config = a.config({ paramsRef: { buckets: ["acme-big", "acme-shared/in/"] } });
  test.each<[says: string, bucket: string, key: string, may: boolean]>([
    ["all of a bucket may be read that is allowed whole", "acme-big", "any/key", true],
    ["and what lies under an allowed prefix", "acme-shared", "in/key", true],
    ["nothing beside the prefix", "acme-shared", "out/key", false],
    ["nothing whose key only ends like it", "acme-shared", "x/acme-shared/in/", false],
    ["nothing of a bucket whose name only begins like an allowed one", "acme-bigger", "key", false],
    ["nothing of any other", "other", "in/key", false],
  ])("%s", (_says, bucket, key, may) => expect(mayRead(config, { bucket, key })).toBe(may));
});
