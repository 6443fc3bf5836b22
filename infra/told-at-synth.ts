import { Annotations } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { ownStopReasons } from "../lib/core/config.ts";
import type { Config } from "../lib/core/config.ts";
import { idleLimits, neverAdmitted } from "../lib/core/ledgers.ts";

/** What of a config works, and may yet not be what was meant. */
export function tellAtSynth(scope: Construct, config: Config): void {
  const told = Annotations.of(scope);
  const idle = idleLimits(config);
  if (idle.length > 0)
    told.addInfoV2(
      "sluice:neverBinding",
      `These limits cannot bind, for what they cover never has as many leases out; no ledger is made for them: ${idle.join(", ")}`,
    );
  const own = ownStopReasons(config).map(({ path }) => path.join("."));
  if (own.length > 0)
    told.addInfoV2(
      "sluice:ownStopReasons",
      `Converse has no such stop reason, so that only a model's own answer to invoke_model can have it: ${own.join(", ")}`,
    );
  const greedy = neverAdmitted(config);
  if (greedy.length > 0)
    told.addWarningV2(
      "sluice:neverAdmitted",
      `These are not below tokensPerMinute, so that only jobs which ask for less themselves are admitted there; lower them: ${greedy.join(", ")}`,
    );
}
