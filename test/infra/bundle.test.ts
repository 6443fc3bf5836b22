import { mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { bundleFunction } from "../../infra/bundle.ts";

const directory = () => mkdtempSync(join(tmpdir(), "sluice-bundle-"));

/** Reads its config as a handler does, and brings a part of the SDK. */
const handler = `
  import { readFileSync } from "node:fs";
  import { SQSClient } from ${JSON.stringify(import.meta.resolve("@aws-sdk/client-sqs"))};
  export const config = JSON.parse(readFileSync(new URL("./sluice.config.json", import.meta.url), "utf8"));
  export const client = new SQSClient({ region: "us-west-2" });
`;

function sample(): string {
  const entry = join(directory(), "handler.ts");
  writeFileSync(entry, handler.replaceAll("file://", ""));
  return entry;
}

describe("a bundle", () => {
  test("is one module and the config, and needs nothing else to run", async () => {
    const outdir = bundleFunction(sample(), '{"logPayloads":false}', directory());
    expect(readdirSync(outdir).toSorted()).toEqual(["index.mjs", "sluice.config.json"]);

    const module: { config: unknown; client: { config: object } } = await import(
      pathToFileURL(join(outdir, "index.mjs")).href
    );
    expect(module.config).toEqual({ logPayloads: false });
    expect(module.client.config).toHaveProperty("region");
  });

  test("has the same bytes wherever it is made", () => {
    const [first, second] = [sample(), sample()].map((entry) =>
      readFileSync(join(bundleFunction(entry, "{}", directory()), "index.mjs")),
    );
    expect(first?.equals(second ?? Buffer.of())).toBe(true);
  });
});

/** Bytes as they were measured last. */
const functions = [
  ["worker", 790_000],
  ["reply-store", 668_000],
  ["dead-letters", 831_000],
  ["sweeper", 529_000],
] as const;

describe.each(functions)("the bundle of %s", (name, bytes) => {
  const entry = join(import.meta.dirname, `../../functions/${name}.ts`);
  const index = () => join(bundleFunction(entry, "{}", directory()), "index.mjs");

  test("is no bigger than it was, and a tenth: its size is cold start", () =>
    expect(statSync(index()).size).toBeLessThan(1.1 * bytes));

  // An ES module has no require: esbuild puts a function there that throws, where a dependency calls it.
  test("calls no require", () => expect(readFileSync(index(), "utf8")).not.toContain("Dynamic require of"));
});
