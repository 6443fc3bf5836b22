import { outputsPrefix } from "./limits.ts";

/** A place in S3 by its `s3://bucket/key`; undefined for what is none. */
export function s3PlaceOf(ref: string): { readonly bucket: string; readonly key: string } | undefined {
  // mutant: `""` → `"mutant"`: without a match the other one is empty, and no place.
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]+)\/(.+)/s.exec(ref) ?? [];
  return isS3Place(bucket, key) ? { bucket, key } : undefined;
}

/** Where an output is, by its reference. @throws Error for a reference to anything else. */
export function outputPlaceOf(ref: string): { readonly bucket: string; readonly key: string } {
  const place = s3PlaceOf(ref);
  if (place?.key.startsWith(outputsPrefix) !== true)
    throw new Error(`an outputRef names no object under ${outputsPrefix}; delete what it names yourself`);
  return place;
}

/** Whether S3 can have an object there. Asked for any other it fails, which would look like trouble of ours, again and again. */
export function isS3Place(bucket: string, key: string): boolean {
  const keyBytes = new TextEncoder().encode(key).length;
  return /^[\w.-]{3,63}$/.test(bucket) && key.isWellFormed() && keyBytes > 0 && keyBytes <= 1_024;
}
