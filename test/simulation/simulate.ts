/**
 * The worker on a World where everything goes wrong, run after run: `npm run simulate -- [--seeds N] [--seed S]
 * [--scenario NAME]`. Each scenario is run with each single fault first, then N times with several; with a seed, with its
 * faults alone. Prints what happened at which boundary, and which promise was broken by which faults.
 */
import { parseArgs } from "node:util";
import { calm } from "./worker/run.ts";
import { scenarios } from "./worker/scenarios.ts";
import { storyOf } from "./worker/story.ts";
import { Tally } from "./worker/tally.ts";
import { singleFaults, troubleOf, walk } from "./worker/walk.ts";
import type { Walked } from "./worker/walk.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string" }, seed: { type: "string" }, scenario: { type: "string", default: "" } },
});
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? 100 : 1));
const tally = new Tally();

async function report(walked: Walked): Promise<void> {
  const story = await storyOf(walked);
  tally.add(walked.history, story.length > 0);
  for (const line of story) console.log(line);
}

for (const scenario of scenarios.filter(({ name }) => name.includes(values.scenario))) {
  const quiet = await walk(scenario);
  await report(quiet);
  const singles = values.seed === undefined ? singleFaults(quiet.history) : [];
  for (const fault of singles) await report(await walk(scenario, { ...calm, faults: [fault] }));
  for (let seed = first; seed < first + seeds; seed++)
    await report(await walk(scenario, troubleOf(seed, quiet.history)));
}
console.log(tally.text());
process.exitCode = tally.broken === 0 ? 0 : 1;
