import type { Reply } from "./reply.ts";

/** Why a message is handed back with a delay. */
export type RequeueCause =
  | "capacity"
  /** A target's quota of a minute was spent. */
  | "quota"
  | "paused"
  /** The lane's money for the day was spent. */
  | "budget"
  | "circuit_open"
  /** Every step that could serve the job has been taken out by an operator. */
  | "taken-out"
  | "transient"
  | "hung"
  | "bell"
  | "no-time"
  /** Its object had no room in the container, beside those of other jobs. */
  | "memory"
  /** Something of ours, or below us, failed. */
  | "trouble";

/** Why a message waits in the parked queue for an operator. */
export type ParkReason =
  | "not_an_envelope"
  | "invalid_envelope"
  | "job_id_reused"
  | "dead_lettered"
  /** Of the replies queue. */
  | "not_a_reply";

/** What becomes of a message whose job this delivery does not hold. */
export type Unclaimed =
  /** Nothing to write: acknowledged. */
  | { readonly kind: "acknowledge" }
  /** Not ours to run now: hidden, then reported. */
  | {
      readonly kind: "hide";
      readonly delayS: number;
      readonly why: "held" | "not-yet" | "paused" | "budget" | "released" | "turn" | "memory" | "trouble";
    }
  /** Sent to the parked queue with its reason, then acknowledged. */
  | { readonly kind: "park"; readonly reason: ParkReason; readonly detail: string; readonly jobId?: string };

/** What becomes of a claimed job. The shell carries it out in the order that loses nothing. */
export type Settlement =
  /** Stored under the claim, then acknowledged. */
  | { readonly kind: "reply"; readonly reply: Reply }
  /** Claim given back with `notBefore`, then the message hidden, then reported. */
  | { readonly kind: "requeue"; readonly delayS: number; readonly cause: RequeueCause }
  /** Another holds the claim by now: nothing is written, the message is reported. */
  | { readonly kind: "lost" };
