import type { Lane } from "../core/lane.ts";
import type { Markup } from "./markup.ts";

/** What somebody may do where the view is shown; whatever is absent cannot be done there, and has no button. */
export interface Controls {
  readonly cancel?: (jobId: string) => Markup;
  /** Of a lane, or of a ledger: a target, a group, an operation, everything. */
  readonly pause?: (name: string) => Markup;
  readonly resume?: (name: string) => Markup;
  /** Runs one parked message again. */
  readonly rerun?: () => Markup;
  /** A job's name, as a way to its timeline. */
  readonly job?: (jobId: string) => Markup;
}

/** How much is shown: a page must stay one that is read. */
export interface Bounds {
  readonly jobsMax: number;
  /** Holders of each ledger. */
  readonly holdersMax: number;
  readonly reasonsMax: number;
}

export const boundsDefault: Bounds = { jobsMax: 100, holdersMax: 8, reasonsMax: 6 };

/** For whoever looks at a lane that is named nowhere else. */
export const laneMeans: Readonly<Record<Lane, string>> = {
  rt: "somebody is waiting",
  bg: "soon",
  bulk: "whenever",
};
