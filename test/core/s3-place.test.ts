import { expect, test } from "vitest";
import { isS3Place } from "../../lib/core/s3-place.ts";

test.each<[says: string, bucket: string, key: string, is: boolean]>([
  ["a bucket and a key", "acme-big", "a/b.json", true],
  ["a key of 1,024 bytes", "acme-big", "é".repeat(512), true],
  ["not of one more", "acme-big", `${"é".repeat(512)}a`, false],
  ["a key of one", "acme-big", "k", true],
  ["not of none", "acme-big", "", false],
  ["not with half a character in it", "acme-big", "\ud800", false],
  ["a bucket's shortest name", "abc", "k", true],
  ["and longest", "a".repeat(63), "k", true],
  ["no shorter one", "ab", "k", false],
  ["no longer one", "a".repeat(64), "k", false],
])("S3 may hold an object under %s", (_says, bucket, key, is) => expect(isS3Place(bucket, key)).toBe(is));
