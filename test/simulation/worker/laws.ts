import type { History, Moment } from "./history.ts";
import type { Seen } from "./seen.ts";

/** What somebody did that he must not. */
export interface Found {
  /** A job, a message, a container. */
  readonly about: string;
  readonly says: string;
}

/** One promise. It is held against every moment of a run, or against the run's end. */
export interface Law {
  /** The invariant's number in the spec's §18, or a section that promises it. */
  readonly law: string;
  readonly says: string;
  at?(moment: Moment, seen: Seen, history: History): Found | undefined;
  atEnd?(history: History): readonly Found[];
}

/** Machines' clocks differ by up to half a second, each. */
export const skewMsMax = 1_000;
