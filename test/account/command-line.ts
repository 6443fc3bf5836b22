/** What `npm run test:aws` understands, and says of itself. */
import { parseArgs } from "node:util";

import { cheapModel } from "../deploy/config.ts";
import { tokensMax } from "../deploy/place.ts";
import { scenarios } from "../deploy/scenarios.ts";
import { stackName, trials } from "./smoke.ts";

export type Asked =
  | { readonly kind: "help" }
  | { readonly kind: "clean" }
  | { readonly kind: "run"; readonly isWanted: (name: string) => boolean }
  | { readonly kind: "wrong"; readonly says: string };

export function readCommandLine(args: readonly string[]): Asked {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h" },
        clean: { type: "boolean" },
        only: { type: "string", multiple: true },
        without: { type: "string", multiple: true },
      },
    });
    if (values.help === true) return { kind: "help" };
    if (values.clean === true) return { kind: "clean" };
    const { only, without = [] } = values;
    const unknown = [...(only ?? []), ...without].find((name) => !trials.some((trial) => trial.name === name));
    if (unknown !== undefined) return { kind: "wrong", says: `there is no trial ${unknown}; --help lists them` };
    return { kind: "run", isWanted: (name) => (only?.includes(name) ?? true) && !without.includes(name) };
  } catch (error) {
    return { kind: "wrong", says: error instanceof Error ? error.message : String(error) };
  }
}

/** More than it asks for: a scenario sends three jobs at most, and the prompts are five words long. */
export const jobsMax = 3 * scenarios.length;
const promptTokensMax = 20;

/** What Bedrock may cost, in USD. */
export const bedrockUsdMax =
  (jobsMax * (promptTokensMax * cheapModel.price.inputPerMTok + tokensMax * cheapModel.price.outputPerMTok)) / 1e6;

export const help = `npm run test:aws [-- --clean | --only NAME | --without NAME]

Deploys Sluice into a real AWS account as the stack ${stackName}, sends it a job by every feed, looks at what no local
engine shows, and takes everything away again, also after a failure or Ctrl-C. It takes about half an hour.

It runs only with credentials in the environment and SLUICE_TEST_ACCOUNT set to their account. The account needs
\`npx cdk bootstrap\` once in the region, and access to ${cheapModel.modelId}; count-tokens asks Claude.

Cost: at most ${jobsMax} requests of ${promptTokensMax} tokens and ${tokensMax} of answer, less than ${centsAbove(bedrockUsdMax)} USD of Bedrock. Beside
them there are a key, alarms, metrics and a dashboard for the time that the stack stands: less than a dollar.

  --clean          takes away what an earlier run has left, and tries nothing
  --only NAME      tries this alone; may be repeated
  --without NAME   tries all but this; may be repeated

${trials.map(({ name, says }) => `  ${name.padEnd(18)} ${says}`).join("\n")}`;

function centsAbove(usd: number): string {
  return (Math.ceil(usd * 100) / 100).toFixed(2);
}
