import { describe, expect, test } from "vitest";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { startFauxqs } from "../../infra/local/engines.ts";
import { s3Client } from "../../lib/aws/clients.ts";
import { createObjects } from "../../lib/aws/objects.ts";
import { createOutputs } from "../../lib/client/outputs.ts";
import { createMemoryObjects } from "../../lib/memory/objects.ts";
import { createBucket, engineForTests, localClient } from "./engines.ts";

const bytesMax = 1_000;

const openings = [
  [
    "in memory",
    async () => {
      const objects = createMemoryObjects("outputs", bytesMax);
      return {
        objects,
        outputs: objects,
        bucket: "outputs",
        put: async (key: string, text: string) => {
          objects.put("outputs", key, text);
        },
      };
    },
  ],
  [
    "on fauxqs",
    async () => {
      const endpoint = await engineForTests(startFauxqs);
      const bucket = await createBucket(endpoint);
      const s3 = s3Client(localClient(endpoint));
      return {
        objects: createObjects(s3, bucket, bytesMax),
        outputs: createOutputs(s3),
        bucket,
        put: async (Key: string, Body: string) => {
          await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
        },
      };
    },
  ],
] as const;

describe.each(openings)("objects %s", async (_name, open) => {
  const { objects, outputs, bucket, put } = await open();
  const read = async (ref: string) => {
    const [, key = ""] = ref.split(`s3://${bucket}/`);
    return objects.get(bucket, key);
  };

  test("are read as text", async () => {
    await put("params/a b+ü.json", '{"a":"ü€😀"}');
    expect(await objects.get(bucket, "params/a b+ü.json")).toEqual({ kind: "found", text: '{"a":"ü€😀"}' });
  });

  test("that do not exist are missing, which is no error", async () => {
    expect(await objects.get(bucket, "nobody's")).toEqual({ kind: "missing" });
  });

  test("that are bigger than any request are not read, for a worker's memory would die of them", async () => {
    await put("params/most.json", "ü".repeat(bytesMax / 2));
    await put("params/more.json", "ü".repeat(bytesMax / 2 + 1));
    expect(await objects.get(bucket, "params/most.json")).toHaveProperty("kind", "found");
    expect(await objects.get(bucket, "params/more.json")).toEqual({ kind: "missing" });
  });

  test("that do not fit are not read: whoever asks is told their bytes before, and may have them later", async () => {
    await put("params/fits.json", "ü".repeat(50));
    const asked: number[] = [];
    const fits = (answer: boolean) => (bytes: number) => {
      asked.push(bytes);
      return answer;
    };
    expect(await objects.get(bucket, "params/fits.json", fits(false))).toEqual({ kind: "no-room" });
    expect(await objects.get(bucket, "params/fits.json", fits(true))).toEqual({ kind: "found", text: "ü".repeat(50) });
    expect(await objects.get(bucket, "nobody's", fits(true))).toEqual({ kind: "missing" });
    expect(asked).toEqual([100, 100]);
  });

  test("take an output, and give it back by its reference", async () => {
    const ref = await objects.putOutput("order:8812/summary=~1", '{"output":1}');
    expect(ref).toMatch(`s3://${bucket}/outputs/`);
    expect(await read(ref)).toEqual({ kind: "found", text: '{"output":1}' });
  });

  test("never write one output over another of the same job; the same again is the same", async () => {
    const first = await objects.putOutput("job", "first");
    const zombies = await objects.putOutput("job", "second");
    expect(zombies).not.toBe(first);
    expect(await objects.putOutput("job", "first")).toBe(first);
    expect(await read(first)).toEqual({ kind: "found", text: "first" });
  });

  test("are removed by a client, by the reference of an output, however often, each by itself", async () => {
    const [first, second] = [await objects.putOutput("job", "first"), await objects.putOutput("job", "second")];
    await outputs.removeOutput(first);
    await outputs.removeOutput(first);
    expect(await read(first)).toEqual({ kind: "missing" });
    expect(await read(second)).toEqual({ kind: "found", text: "second" });
  });

  test("that are no outputs are not removed, whatever a reply says", async () => {
    await put("params/most.json", "{}");
    for (const ref of [`s3://${bucket}/params/most.json`, "outputs/job/0.json", `s3://${bucket}/outputs`])
      await expect(outputs.removeOutput(ref)).rejects.toThrow("no object under outputs/");
    expect(await objects.get(bucket, "params/most.json")).toHaveProperty("kind", "found");
  });
});

test("objects in a bucket that is not there throw: that is no missing object", async () => {
  const endpoint = await engineForTests(startFauxqs);
  const objects = createObjects(s3Client(localClient(endpoint)), "no-such-bucket");
  await expect(objects.get("no-such-bucket", "a")).rejects.toThrow(expect.objectContaining({ name: "NoSuchBucket" }));
});
