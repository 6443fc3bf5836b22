import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** The clients of the SDK in the bundle of somebody who imports `name`, which lives in `file`, from the client. */
async function sdkIn(name: string, file: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: {
      contents: `import { ${name} } from "./lib/client/index.ts"; console.log(${name});`,
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
