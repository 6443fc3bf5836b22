import { describe, expect, test } from "vitest";
import { readModelId } from "../../lib/core/model-id.ts";

const arn = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/a1";

describe("a modelId names", () => {
  test("a foundation model by its id", () =>
    expect(readModelId("amazon.nova-lite-v1:0")).toEqual({ kind: "model", modelId: "amazon.nova-lite-v1:0" }));

  test.each(["us", "us-gov", "eu", "apac", "jp", "au", "ca", "global"])("AWS's profile by the prefix %s", (prefix) =>
    expect(readModelId(`${prefix}.amazon.nova-lite-v1:0`)).toEqual({
      kind: "profile",
      profileId: `${prefix}.amazon.nova-lite-v1:0`,
      modelId: "amazon.nova-lite-v1:0",
    }),
  );

  test("a model though a part of its name is called like a prefix", () =>
    expect(readModelId("acme.us.nova")).toEqual({ kind: "model", modelId: "acme.us.nova" }));

  test("one's own by its ARN", () =>
    expect(readModelId(arn)).toEqual({
      kind: "own",
      arn,
      region: "us-west-2",
      what: "application-inference-profile",
    }));

  test.each([
    "",
    "nova",
    "Amazon.nova",
    "amazon.nova lite",
    "(amazon.nova)",
    `see ${arn}`,
    `${arn}/versions`,
    "arn:aws:bedrock:us-west-2::foundation-model/amazon.nova-lite-v1:0",
  ])("nothing by %j", (text) => expect(readModelId(text)).toBeUndefined());
});
