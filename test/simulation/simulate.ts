/**
 * The worker on a World where everything goes wrong, run after run: `npm run simulate -- [--seeds N] [--seed S]
 * [--scenario NAME]`. Each scenario is first run with each single fault, then with several at once. Prints what was tried
 * at which boundary, and what an invariant has against it, with the fewest faults that bring it about.
 */
import { parseArgs } from "node:util";
import { breachText } from "./worker/invariants.ts";
import { faultText } from "./worker/faults.ts";
import { scenarios } from "./worker/scenarios.ts";
import { Tally } from "./worker/tally.ts";
import { calm } from "./worker/run.ts";
import { minimise, singleFaults, troubleOf, walk } from "./worker/walk.ts";
import type { Walked } from "./worker/walk.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string" }, seed: { type: "string" }, scenario: { type: "string" } },
});
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? 100 : 1));
const chosen = scenarios.filter(({ name }) => values.scenario === undefined || name.includes(values.scenario));
const tally = new Tally();

async function report(walked: Walked): Promise<void> {
  tally.add(walked.history);
  if (walked.breaches.length === 0) return;
  tally.broken += 1;
  const { scenario, trouble, breaches } = await minimise(walked);
  console.log(`✗ ${scenario.name}, seed ${trouble.seed}, ${trouble.faults.map(faultText).join(" + ") || "no fault"}`);
  for (const breach of breaches) console.log(`    ${breachText(breach)}`);
}

for (const scenario of chosen) {
  const quiet = await walk(scenario);
  await report(quiet);
  if (values.seed === undefined)
    for (const fault of singleFaults(quiet.history)) await report(await walk(scenario, { ...calm, faults: [fault] }));
  for (let seed = first; seed < first + seeds; seed++)
    await report(await walk(scenario, troubleOf(seed, quiet.history)));
}
console.log(tally.text());
process.exitCode = tally.broken === 0 ? 0 : 1;
