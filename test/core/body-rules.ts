/** What holds for every body, however it came to be. */
import { fc } from "@fast-check/vitest";
import { expect } from "vitest";
import { encode, meansToBeEnvelope } from "../../lib/core/envelope.ts";
import type { Envelope, Fault, Read } from "../../lib/core/envelope.ts";
import { layersMax, readBody, readObject } from "../../lib/core/feeds.ts";
import { contentOf } from "../../lib/core/job.ts";
import { isObject, parseJson } from "../../lib/core/json.ts";
import type { Json } from "../../lib/core/json.ts";
import { arbitraryEnvelope } from "../arbitrary.ts";
import { anyBody, damagedEnvelope, layer, secret, write, writtenOf } from "./a-body.ts";
import type { Layer, Written } from "./a-body.ts";

const jobIdPattern = /^[A-Za-z0-9_.:/=+~-]{1,128}$/;
const bareBuiltIns = builtIns();

function builtIns() {
  return [Object, Array, String, Number].map(({ prototype }) => Reflect.ownKeys(prototype).length);
}

/** The jobIds that stand anywhere in a body, in texts that hold JSON too. */
function jobIdsIn(value: Json | undefined, levelsLeft = 40): string[] {
  if (levelsLeft === 0) return [];
  if (typeof value === "string") {
    const inner = parseJson(value);
    return typeof inner === "object" || typeof inner === "string" ? jobIdsIn(inner, levelsLeft - 1) : [];
  }
  if (Array.isArray(value)) return value.flatMap((item: Json) => jobIdsIn(item, levelsLeft - 1));
  if (!isObject(value)) return [];
  const own = Object.hasOwn(value, "jobId") && typeof value["jobId"] === "string" ? [value["jobId"]] : [];
  return [...own, ...Object.values(value).flatMap((item) => jobIdsIn(item, levelsLeft - 1))];
}

/** The job that a body names, if it can be answered. */
function named(read: Read): string | undefined {
  if (read.kind === "envelope") return read.envelope.jobId;
  return read.kind === "invalid" ? read.jobId : undefined;
}

function checkFault({ field, message }: Fault): void {
  expect(message.startsWith(`${field} `)).toBe(true);
  expect(field).toMatch(/^(replyTo\.)?([\w.$-]{1,64}|\?)$/);
  expect(message.length).toBeLessThanOrEqual(256);
  expect(message).toMatch(/; | must be |did you mean/); // the remedy
  expect(message).not.toContain(secret);
}

/** With numbers as texts: -0 is 0, and what is beyond all numbers is not null. */
function spelled(envelope: Envelope): unknown {
  const text = JSON.stringify(envelope, (_key, value: unknown) => (typeof value === "number" ? `${value}` : value));
  return JSON.parse(text);
}

/** It comes back from JSON as the same job. */
function checkEnvelope(envelope: Envelope): void {
  const again = readBody(encode(envelope));
  if (again.kind !== "envelope") throw new Error(`reads again as ${again.kind}`);
  expect(contentOf(again.envelope)).toBe(contentOf(envelope));
  expect(spelled(again.envelope)).toEqual(spelled(envelope));
}

/** Throws where one of the rules is broken. */
export function checkBody(body: string): void {
  const read = readBody(body);
  expect(builtIns()).toEqual(bareBuiltIns);
  const value = parseJson(body);
  const jobIds = jobIdsIn(value);
  const job = named(read);
  if (job !== undefined) {
    expect(jobIds).toContain(job);
    expect(job).toMatch(jobIdPattern);
  }
  if (isObject(value) && Object.hasOwn(value, "jobId") && !isObject(value["jobId"])) {
    const jobId = value["jobId"];
    expect(job).toBe(typeof jobId === "string" && jobIdPattern.test(jobId) ? jobId : undefined);
  }
  const object = readObject(body);
  expect(object.kind).toBe(read.kind === "pointer" || read.kind === "ignore" ? "refused" : read.kind);
  if (object.kind === "refused") checkFault(object.fault);

  switch (read.kind) {
    case "envelope":
      checkEnvelope(read.envelope);
      break;
    case "invalid":
    case "refused":
      checkFault(read.fault);
      break;
    case "pointer":
      expect(read.bucket).toMatch(/^[\w.-]+$/);
      expect(read.key.length > 0 && read.key.isWellFormed()).toBe(true);
      break;
    case "ignore": // and deleted: whatever names a job is none of this
      expect(jobIds).toEqual([]);
  }
}

const goodOrDamaged = fc.oneof(
  arbitraryEnvelope.map((envelope) => writtenOf(JSON.parse(encode(envelope)))),
  damagedEnvelope,
);
const layers = fc.array(layer, { minLength: 1, maxLength: layersMax });

function checkLayers(inner: Written, around: readonly Layer[]): void {
  const bare = write(inner);
  const value = parseJson(bare);
  fc.pre(isObject(value) && meansToBeEnvelope(value));
  expect(readBody(write(around.reduce((it, wrap) => wrap(it), inner)))).toEqual(readBody(bare));
}

/** What breaks a rule among so many cases; undefined: nothing. */
type Broken = (cases: number) => string | undefined;

function brokenBy<Case>(property: fc.IPropertyWithHooks<Case>): Broken {
  return (numRuns) => breachIn(fc.check(property, { numRuns }));
}

/** The case that was found, with its seed, and what it broke. */
export function breachIn<Case>(details: fc.RunDetails<Case>): string | undefined {
  const report = fc.defaultReportMessage(details);
  return report === undefined ? undefined : `${report}\n\n${String(details.errorInstance)}`;
}

export const rules: readonly (readonly [says: string, broken: Broken])[] = [
  [
    "any body is read as something, its fault tells the remedy and none of it, and what is accepted is the same job again",
    brokenBy(fc.property(anyBody, checkBody)),
  ],
  [
    "up to four layers change nothing about an envelope, good or damaged",
    brokenBy(fc.property(goodOrDamaged, layers, checkLayers)),
  ],
];
