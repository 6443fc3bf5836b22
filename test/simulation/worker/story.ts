import { faultText } from "./faults.ts";
import { breachText } from "./invariants.ts";
import type { Trouble } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import { minimise, walk } from "./walk.ts";
import type { Walked } from "./walk.ts";

/** What is wrong with a run, by the fewest faults that bring it about; nothing for a good one. */
export async function storyOf(walked: Walked): Promise<readonly string[]> {
  if (walked.breaches.length === 0) return [];
  const { scenario, trouble, breaches } = await minimise(walked);
  const skew = trouble.skewMs === 0 ? "" : `, clocks ${trouble.skewMs} ms apart`;
  const faults = trouble.faults.map(faultText).join(" + ") || "no fault";
  return breaches.map((breach) => `${scenario.name}, seed ${trouble.seed}${skew}, ${faults}: ${breachText(breach)}`);
}

/** The same of many runs. */
export async function storiesOf(scenario: Scenario, troubles: readonly Trouble[]): Promise<readonly string[]> {
  const stories: string[] = [];
  for (const trouble of troubles) stories.push(...(await storyOf(await walk(scenario, trouble))));
  return stories;
}
