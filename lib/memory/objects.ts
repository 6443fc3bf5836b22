import { objectBytesMax, outputsPrefix } from "../core/limits.ts";
import { outputPlaceOf } from "../core/s3-place.ts";
import type { Objects } from "../ports.ts";

/** Objects in memory, by `bucket/key`. */
export interface MemoryObjects extends Objects {
  /** As a client does it that forgets a job. */
  removeOutput(ref: string): Promise<void>;
  put(bucket: string, key: string, text: string): void;
}

export function createMemoryObjects(outputBucket = "outputs", bytesMax = objectBytesMax): MemoryObjects {
  const texts = new Map<string, string>();
  return {
    put(bucket, key, text) {
      texts.set(`${bucket}/${key}`, text);
    },

    async get(bucket, key, fits = () => true) {
      const text = texts.get(`${bucket}/${key}`);
      const bytes = new TextEncoder().encode(text).length;
      if (text === undefined || bytes > bytesMax) return { kind: "missing" };
      return fits(bytes) ? { kind: "found", text } : { kind: "no-room" };
    },

    async putOutput(jobId, text) {
      // Named by its content in so far as no other output of the job has the name.
      const path = `${outputBucket}/${outputsPrefix}${encodeURIComponent(jobId)}`;
      for (let version = 0; ; version++) {
        const taken = texts.get(`${path}/${version}.json`);
        if (taken !== undefined && taken !== text) continue;
        texts.set(`${path}/${version}.json`, text);
        return `s3://${path}/${version}.json`;
      }
    },

    async removeOutput(ref) {
      const { bucket, key } = outputPlaceOf(ref);
      texts.delete(`${bucket}/${key}`);
    },
  };
}
