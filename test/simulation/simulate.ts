/**
 * The worker on a World where everything goes wrong, run after run: `npm run simulate -- [--seeds N] [--seed S]
 * [--scenario NAME]`. Each scenario is run with each single fault first, then N times with several, and N times all of it
 * is as the dice fall (`--scenario wild`); with a seed, with that one alone. Prints what happened at which boundary, and
 * which promise was broken by which faults.
 */
import { parseArgs } from "node:util";
import { calm } from "./worker/run.ts";
import type { Scenario } from "./worker/scenario.ts";
import { scenarios } from "./worker/scenarios.ts";
import { storyOf } from "./worker/story.ts";
import { Tally } from "./worker/tally.ts";
import { singleFaults, troubleOf, walk } from "./worker/walk.ts";
import type { Walked } from "./worker/walk.ts";
import { wild } from "./worker/wild.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string" }, seed: { type: "string" }, scenario: { type: "string", default: "" } },
});
const first = Number(values.seed ?? 1);
const count = Number(values.seeds ?? (values.seed === undefined ? 100 : 1));
const seeds = Array.from({ length: count }, (_, index) => first + index);
const tally = new Tally();

async function report(walked: Walked): Promise<Walked> {
  const story = await storyOf(walked);
  tally.add(walked.history, story.length > 0);
  for (const line of story) console.log(line);
  return walked;
}

async function simulate(scenario: Scenario, ofSeeds: readonly number[]): Promise<void> {
  const { history } = await report(await walk(scenario));
  const singles = values.seed === undefined && scenario.isWild !== true ? singleFaults(history) : [];
  for (const fault of singles) await report(await walk(scenario, { ...calm, faults: [fault] }));
  for (const seed of ofSeeds) await report(await walk(scenario, troubleOf(seed, history)));
}

for (const scenario of scenarios.filter(({ name }) => name.includes(values.scenario))) await simulate(scenario, seeds);
if ("wild".includes(values.scenario)) for (const seed of seeds) await simulate(wild(seed), [seed]);
console.log(tally.text());
process.exitCode = tally.broken === 0 ? 0 : 1;
