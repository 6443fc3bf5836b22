import type { Op, Price, ServiceTier } from "./config.ts";

/** One `model@target` of a job's fallback chain, with all that an attempt on it needs to know. */
export interface Step {
  /** `model@target`: also the name of its lease ledger. */
  readonly name: string;
  readonly model: string;
  readonly target: string;
  /** The Bedrock model or inference profile id that goes into the request. */
  readonly modelId: string;
  readonly region: string;
  /** Sent as the ceiling of every request. */
  readonly maxTokens: number;
  readonly serviceTier?: ServiceTier;
  /** Tried only while its ledger is known to have room for this lane. */
  readonly requireHeadroom: boolean;
  readonly contextWindow?: number;
  readonly typicalMs?: number;
  readonly limit: { readonly start: number; readonly max: number };
  readonly ops: readonly Op[];
  readonly lacks: readonly string[];
  readonly price?: Price;
  /** Stop reasons that send the job to the next step although the model answered. */
  readonly fallbackOn: readonly string[];
}
