import { stepParts, targetsOf } from "./config.ts";
import type { Config } from "./config.ts";
import type { Job } from "./job.ts";
import { plan } from "./plan.ts";

/** The first name in the job that this config does not have, with those that it has; workers of another config may have it. */
export function unknownName(
  { model, fallback = "default", lane = "bg" }: Pick<Job, "model"> & Partial<Pick<Job, "fallback" | "lane">>,
  config: Config,
): string | undefined {
  const planned = plan({ model, fallback, lane }, config);
  if (planned.kind === "plan") return undefined;
  const { name } = planned;
  const steps = targetsOf(config).filter((target) => target.model === stepParts(name).model);
  const known = steps.length > 0 ? steps.map(({ step }) => step) : Object.keys(config.models);
  return (
    `${name === model ? "model" : "fallback"}: ${JSON.stringify(name)} is not in the config (known: ${known.join(", ")}); ` +
    "it waits for a worker that knows it until its deadline"
  );
}
