import { faultOf } from "../../../lib/memory/bedrock-play.ts";
import type { ProviderError } from "../../../lib/core/failure.ts";

/** What may go wrong with one request on its way: every port knows these. */
const wireKinds = ["refused", "throttled", "lost", "slow", "twice", "echo", "late", "hang", "down"] as const;
/** Bedrock is asked by exactly one HTTP request, and says what went wrong in its own words. */
const modelKinds = [
  "refused",
  "throttled",
  "lost",
  "slow",
  "hang",
  "daily",
  "internal",
  "unavailable",
  "stream",
  "expired",
  "malformed",
] as const;
/** What may happen to the container that makes the call. */
const containerKinds = ["crash-before", "crash-after", "freeze-before", "freeze-after"] as const;
/** What may happen outside while it is made: a visibility that ends early, a sender's second copy, a cancel. */
const outsideKinds = ["early", "copy", "cancel"] as const;

export type FaultKind =
  | (typeof wireKinds)[number]
  | (typeof modelKinds)[number]
  | (typeof containerKinds)[number]
  | (typeof outsideKinds)[number];

export const faultKinds: readonly FaultKind[] = [
  ...new Set([...wireKinds, ...modelKinds, ...containerKinds, ...outsideKinds]),
];

/** Something that goes wrong with the nth call of a boundary in a run, whoever makes it. */
export interface Fault {
  /** `port.method` */
  readonly call: string;
  /** From 1. */
  readonly nth: number;
  readonly kind: FaultKind;
}

/** All that may happen at a boundary. */
export function kindsAt(call: string): readonly FaultKind[] {
  return [...(isModelCall(call) ? modelKinds : wireKinds), ...containerKinds, ...outsideKinds];
}

export function isModelCall(call: string): boolean {
  return call.startsWith("models.");
}

/** Whether it happens to a request to Bedrock, rather than to who sends it. */
export function isModelKind(kind: FaultKind): boolean {
  return modelKinds.some((one) => one === kind);
}

export function faultText({ call, nth, kind }: Fault): string {
  return `${call}#${nth} ${kind}`;
}

/**
 * How long each lasts. A freeze outlasts every claim and lease; a late copy comes when all of them are over; a port that
 * is down outlasts the patience of whoever stores a reply.
 */
export const faultMs = { freeze: 47_000, echo: 41_000, late: 52_000, down: 9_000 };
/** Of the time that a client waits, there and back again. */
export const slowPart = 0.45;

/** When a client gives up, its own repetitions included (spec §7): the longest that a call takes. */
export function clientMsMax(call: string): number {
  const [port = ""] = call.split(".");
  const bounds: Readonly<Record<string, number>> = { jobs: 3_000, leases: 3_000, objects: 30_000 };
  return bounds[port] ?? 9_000;
}

/** As the SDK throws them: infrastructure, by its marks. */
export function thrown(kind: FaultKind): Error {
  if (kind === "throttled")
    return Object.assign(new Error("slow down"), { name: "ThrottlingException", $metadata: {} });
  if (kind === "refused") return Object.assign(new Error("connect"), { name: "Error", code: "ECONNREFUSED" });
  return Object.assign(new Error("timed out"), { name: "TimeoutError" });
}

/** As the adapter reports them. Some services repeat in an error what they were sent. */
export function providerError(kind: FaultKind, echoed: string): ProviderError {
  if (kind === "refused") return { name: "ECONNREFUSED", code: "ECONNREFUSED", message: "connect", unsent: true };
  if (kind === "malformed") return { name: "UnreadableResponse", message: `the response is not JSON: ${echoed}` };
  const fault = scripted.find((one) => one === kind);
  if (fault === undefined) return { name: "ECONNRESET", code: "ECONNRESET", message: "aborted" };
  const { status, name, message } = faultOf(fault);
  return { status, name, message: `${message} ${echoed}` };
}

const scripted = ["throttled", "daily", "internal", "unavailable", "stream", "expired"] as const;
