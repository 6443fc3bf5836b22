import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** What is in the bundle of somebody who imports `name`, which lives in `file`, by one of the doors of `lib`. */
async function bundleOf(name: string, file: string, door = "client"): Promise<string[]> {
  const { metafile } = await build({
    stdin: {
      contents: `import { ${name} } from "./lib/${door}/index.ts"; console.log(${name});`,
      resolveDir: fileURLToPath(new URL("../..", import.meta.url)),
    },
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
    logLevel: "silent",
  });
  const bundled = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  expect(bundled).toContain(file);
  return bundled;
}

/** The clients of the SDK in it. */
async function sdkIn(...of: Parameters<typeof bundleOf>): Promise<string[]> {
  const bundled = await bundleOf(...of);
  return [...new Set(bundled.flatMap((path) => /@aws-sdk\/client-[\w-]+/.exec(path) ?? []))].toSorted();
}

test("who only reads a file of jobs bundles no SDK", async () => {
  expect(await sdkIn("readJobs", "lib/client/read-jobs.ts")).toEqual([]);
});

test("who sends bundles the clients of DynamoDB, S3 and SQS, and of Bedrock the types alone", async () => {
  expect(await sdkIn("createClient", "lib/client/index.ts")).toEqual([
    "@aws-sdk/client-dynamodb",
    "@aws-sdk/client-s3",
    "@aws-sdk/client-sqs",
  ]);
});

test("nor does it bundle the worker", async () => {
  const bundled = await bundleOf("createClient", "lib/client/index.ts");
  expect(bundled.filter((path) => /^lib\/(worker|memory|call-now)\/|\/zod\//.test(path))).toEqual([]);
});

test("who calls bundles the worker, and the clients of DynamoDB and Bedrock", async () => {
  expect(await sdkIn("createCallNow", "lib/worker/run-plan.ts", "call-now")).toEqual([
    "@aws-sdk/client-bedrock-runtime",
    "@aws-sdk/client-dynamodb",
  ]);
});

test("a test's client bundles no SDK", async () => {
  expect(await sdkIn("createTestClient", "lib/worker/run-plan.ts", "testing")).toEqual([]);
});
