import { expect, test } from "vitest";
import { isS3Place, outputPlaceOf, s3PlaceOf } from "../../lib/core/s3-place.ts";

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

test.each<[says: string, ref: string, place: ReturnType<typeof s3PlaceOf>]>([
  ["names a bucket and a key", "s3://acme-big/a/b.json", { bucket: "acme-big", key: "a/b.json" }],
  ["may hold any character in its key", "s3://acme-big/a\nb", { bucket: "acme-big", key: "a\nb" }],
  ["is no place without a key", "s3://acme-big/", undefined],
  ["is no place with anything before it", " s3://acme-big/a", undefined],
  ["is no place that S3 would not have", "s3://ab/a", undefined],
])("a reference %s", (_says, ref, place) => expect(s3PlaceOf(ref)).toEqual(place));

test("an output is what lies among outputs", () => {
  expect(outputPlaceOf("s3://acme-big/outputs/j/0.json")).toEqual({ bucket: "acme-big", key: "outputs/j/0.json" });
  expect(() => outputPlaceOf("s3://acme-big/params/outputs/0.json")).toThrow("names no object under outputs/");
  expect(() => outputPlaceOf("outputs/j/0.json")).toThrow("names no object under outputs/");
});
