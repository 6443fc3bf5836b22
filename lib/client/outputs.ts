import { DeleteObjectCommand } from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { outputPlaceOf } from "../core/s3-place.ts";

/** Outputs that lie apart from their reply. */
export interface Outputs {
  /**
   * Deletes one by its reference; idempotent.
   * @throws Error for a reference to anything but an output: no worker wrote it.
   */
  removeOutput(ref: string): Promise<void>;
}

/** By their references alone: whoever forgets a job need not know the stack's bucket. */
export function createOutputs(s3: S3Client): Outputs {
  return {
    async removeOutput(ref) {
      const { bucket, key } = outputPlaceOf(ref);
      await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
  };
}
