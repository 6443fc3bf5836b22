import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { GetObjectCommand, NoSuchKey, PutObjectCommand } from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { objectBytesMax, outputsPrefix } from "../core/limits.ts";
import type { Objects } from "../ports.ts";

/** Objects on S3; outputs go to `outputBucket`, whose lifecycle rule ends them. */
export function createObjects(s3: S3Client, outputBucket: string, bytesMax = objectBytesMax): Objects {
  return {
    async get(bucket, key, fits = () => true) {
      try {
        const { Body, ContentLength = 0 } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        const refused = ContentLength > bytesMax ? "missing" : fits(ContentLength) ? undefined : "no-room";
        if (refused !== undefined) {
          if (Body instanceof Readable) Body.destroy();
          return { kind: refused };
        }
        return { kind: "found", text: (await Body?.transformToString("utf-8")) ?? "" };
      } catch (error) {
        if (error instanceof NoSuchKey) return { kind: "missing" };
        throw error;
      }
    },

    async putOutput(jobId, text) {
      // Named by its content: a resend writes the same again, and a worker that was overtaken no other's output.
      const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
      const key = `${outputsPrefix}${encodeURIComponent(jobId)}/${digest}.json`;
      const body = { Body: text, ContentType: "application/json" };
      await s3.send(new PutObjectCommand({ Bucket: outputBucket, Key: key, ...body }));
      return `s3://${outputBucket}/${key}`;
    },
  };
}
