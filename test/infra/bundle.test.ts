import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { bundleFunction } from "../../infra/bundle.ts";
import type * as announcing from "../../lib/aws/announcer.ts";
import { localClient } from "../contract/engines.ts";
import { startJsonServices } from "../contract/json-services.ts";
import { temporaryFolder } from "../temporary.ts";

const directory = () => temporaryFolder("bundle");

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
  test("is modules and the config, and needs nothing else to run", async () => {
    const outdir = bundleFunction(sample(), '{"logPayloads":false}', directory());
    expect(readdirSync(outdir).filter((file) => !/^[\w-]+\.mjs$/.test(file))).toEqual(["sluice.config.json"]);

    const module: { config: unknown; client: { config: object } } = await import(
      pathToFileURL(join(outdir, "index.mjs")).href
    );
    expect(module.config).toEqual({ logPayloads: false });
    expect(module.client.config).toHaveProperty("region");
  });

  test("has the same bytes wherever it is made", () => {
    const [first, second] = [sample(), sample()].map((entry) => modulesIn(bundleFunction(entry, "{}", directory())));
    expect(first).toEqual(second);
  });

  test("finds what it reads later, once somebody waits for it", async () => {
    const services = await startJsonServices();
    const outdir = bundleFunction(join(import.meta.dirname, "../../lib/aws/announcer.ts"), "{}", directory());
    const module: Pick<typeof announcing, "createAnnouncer"> = await import(
      pathToFileURL(join(outdir, "index.mjs")).href
    );
    const announcer = module.createAnnouncer(() => expect.unreachable(), localClient(services.endpoint));
    expect(await announcer.announce({ kind: "eventBus", name: "default" }, "{}")).toBe("sent");
    expect(await announcer.beat("none")).toBe("gone");
    expect(services.calls.map(({ operation }) => operation)).toEqual(["PutEvents", "SendTaskHeartbeat"]);
    await services.stop();
  });

  test("keeps nothing of the one that was in its place", () => {
    const outdir = directory();
    writeFileSync(join(outdir, "chunk-OLD.mjs"), "");
    expect([...modulesIn(bundleFunction(sample(), "{}", outdir)).keys()]).not.toContain("chunk-OLD.mjs");
  });
});

/** The text of every module, by its name. */
function modulesIn(outdir: string): ReadonlyMap<string, string> {
  const names = readdirSync(outdir).filter((file) => file.endsWith(".mjs"));
  return new Map(names.map((file) => [file, readFileSync(join(outdir, file), "utf8")]));
}

/** What a cold start reads: the first module, and all that it imports before it runs. */
function readAtStart(modules: ReadonlyMap<string, string>): string {
  const names = new Set(["index.mjs"]);
  for (const name of names)
    for (const [, next = ""] of (modules.get(name) ?? "").matchAll(/(?:from|import)"\.\/([\w-]+\.mjs)"/g))
      names.add(next);
  return [...names].map((name) => modules.get(name)).join("");
}

/** Bytes of what a cold start reads, as they were measured last. */
const functions = [
  ["worker", 728_000],
  ["reply-store", 569_000],
  ["dead-letters", 730_000],
  ["sweeper", 413_000],
  ["widget", 448_000],
] as const;

describe.each(functions)("the bundle of %s", (name, bytes) => {
  const entry = join(import.meta.dirname, `../../functions/${name}.ts`);
  const modules = modulesIn(bundleFunction(entry, "{}", directory()));
  const start = readAtStart(modules);
  const all = [...modules.values()].join("");
  const tells = name === "widget" ? [] : ["AWSEvents", "AWSStepFunctions", "AmazonSimpleNotificationService"];

  test("reads no more at its start than it did, and a tenth", () =>
    expect(Buffer.byteLength(start)).toBeLessThan(1.1 * bytes));

  test.each(tells)("has the client of %s, and does not read it at its start", (service) => {
    expect(all).toContain(service);
    expect(start).not.toContain(service);
  });

  // An ES module has no require: esbuild puts a function there that throws, where a dependency calls it.
  test("calls no require", () => expect(all).not.toContain("Dynamic require of"));
});
