import type { Overview } from "../core/overview.ts";
import { boundsDefault } from "./controls.ts";
import type { Bounds, Controls } from "./controls.ts";
import { jobsSection } from "./jobs.ts";
import { lanesSection } from "./lanes.ts";
import { ledgersSection } from "./ledgers.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";

/** The service as HTML: why each job waits comes first. Nothing in it is a job's content. */
export function overviewMarkup(overview: Overview, controls: Controls = {}, bounds: Bounds = boundsDefault): Markup {
  return markup`${jobsSection(overview, controls, bounds)}
${ledgersSection(overview, controls, bounds)}
${lanesSection(overview, controls)}`;
}
