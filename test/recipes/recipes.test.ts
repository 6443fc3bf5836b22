/** lib/RECIPES.md, cooked: its files are written as a reader would, and run. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test } from "vitest";
import { startFauxqs } from "../../infra/local/engines.ts";
import type { Client, JobOf, ReplyOf } from "../../lib/client/index.ts";
import { noMeta } from "../../lib/core/reply.ts";
import { createTestClient } from "../../lib/testing/index.ts";
import { createBucket, localClient } from "../contract/engines.ts";
import { openKitchen, recipes } from "./document.ts";

const kitchen = openKitchen();

test("every file of a recipe has the types that it says", async () => {
  const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc");
  const run = promisify(execFile)(tsc, ["--project", kitchen.root], { cwd: kitchen.root });
  expect(await run.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: "" });
}, 120_000);

test("every block of TypeScript is such a file", () =>
  expect(kitchen.files).toHaveLength(recipes.match(/^```ts$/gm)?.length ?? 0));

describe("an S3 prefix", async () => {
  const engine = await startFauxqs();
  afterAll(engine.stop);
  const s3 = new S3Client({ ...localClient(engine.endpoint), forcePathStyle: true });
  const put = (Bucket: string, Key: string, Body: string) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: Buffer.byteLength(Body) }));
  const recipe = await kitchen.load<{
    submitPrefix(sluice: Client, s3: S3Client, bucket: string, prefix: string): Promise<string[]>;
    collect(sluice: Client, s3: S3Client, jobIds: readonly string[]): AsyncIterable<object>;
    textOf(s3: S3Client, reply: ReplyOf<"converse">): Promise<string>;
  }>(1, "summarise-prefix.ts");

  test("has a summary of each object, and asks again only for what has changed", async () => {
    const bucket = await createBucket(engine.endpoint);
    for (const [key, text] of Object.entries({ "docs/": "", "docs/a b.txt": "Aa", "docs/ü.txt": "Uu", "x.txt": "Xx" }))
      await put(bucket, key, text);
    const sluice = createTestClient({ answer: ({ params }) => `About ${JSON.stringify(params["messages"])}` });
    const run = async () => {
      const jobIds = await recipe.submitPrefix(sluice, s3, bucket, "docs/");
      const collected: object[] = [];
      for await (const one of recipe.collect(sluice, s3, jobIds)) collected.push(one);
      return collected;
    };

    const about = (text: string) => `About [{"role":"user","content":[{"text":"${text}"}]}]`;
    expect(await run()).toEqual([
      { key: "docs/a b.txt", summary: about("Aa") },
      { key: "docs/ü.txt", summary: about("Uu") },
    ]);
    await put(bucket, "docs/ü.txt", "Uv");
    expect(await run()).toEqual([
      { key: "docs/a b.txt", summary: about("Aa") },
      { key: "docs/ü.txt", summary: about("Uv") },
    ]);
    expect(sluice.asked).toHaveLength(3);
    expect(sluice.submitted.map(({ lane }) => lane)).toEqual(["bulk", "bulk", "bulk"]);
  });

  test("reads an output where it lies", async () => {
    const bucket = await createBucket(engine.endpoint);
    const output = { output: { message: { role: "assistant", content: [{ text: "A long " }, { text: "one." }] } } };
    await put(bucket, "outputs/a%2Fb/0.json", JSON.stringify(output));
    const outputRef = `s3://${bucket}/outputs/a%2Fb/0.json`;
    const reply = { jobId: "a/b", ok: true, status: "succeeded", outputRef, meta: noMeta, metadata: {} } as const;
    expect(await recipe.textOf(s3, reply)).toBe("A long one.");
  });

  test.each([
    ["is read by the worker where the config allows its bucket", ["requests"], "params_missing"],
    ["is refused where it does not", [], "invalid_envelope"],
  ])("that holds requests %s", async (_says, buckets, code) => {
    const { jobOfRequest } = await kitchen.load<{
      readonly jobOfRequest: (bucket: string, key: string, etag: string) => JobOf<"converse">;
    }>(1, "request-object.ts");
    const sluice = createTestClient({ answer: () => "", config: { models: models(), paramsRef: { buckets } } });
    const jobId = await sluice.submit(jobOfRequest("requests", "ready/a.json", '"e"'));
    expect(await sluice.waitForReply(jobId)).toMatchObject({ reply: { ok: false, error: { code } } });
  });
});

function models() {
  const west = {
    modelId: "us.amazon.nova-lite-v1:0",
    region: "us-west-2",
    limit: { start: 1, max: 1 },
    maxTokens: 100,
  };
  return { "fast-text": { targets: { west } } };
}
