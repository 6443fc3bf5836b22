import { bedrockModels } from "../aws/bedrock.ts";
import { dynamoClient } from "../aws/clients.ts";
import { systemClock } from "../aws/clock.ts";
import { createLeaseTable } from "../aws/lease-table.ts";
import { needNames } from "../client/need.ts";
import { checkConfig } from "../config.ts";
import type { ConfigInput } from "../config.ts";
import type { Telemetry } from "../ports.ts";
import { callNowOn } from "./call-now.ts";
import type { CallNow } from "./call-now.ts";

export { CallFailed } from "./call-now.ts";
export type { CallNow, CallOptions } from "./call-now.ts";
export type { CallOf, OutputOf, ParamsOf, ReplyOf } from "../client/job.ts";
export { JobRefused } from "../client/submit.ts";

/** Endpoints and credentials are the SDK's own: `AWS_ENDPOINT_URL_DYNAMODB` and the like. */
export interface CallNowOptions {
  /** The deployment's: its limits bind only where all have the same. */
  readonly config: ConfigInput;
  /** The stack's output `leaseTableName`. */
  readonly leaseTable: string;
  /** Of the lease table; targets name their own. */
  readonly region?: string;
  /** Hears what the workers' logs and metrics are made of. */
  readonly telemetry?: Telemetry;
}

/**
 * For any process with rights on the lease table and the targets (`grantCallNow`). One for a process: its calls share what is
 * known of limits and breakers. Nothing runs until it is used.
 * @throws ConfigError for a config with a fault; TypeError for a name that is missing.
 */
export function createCallNow({ config, leaseTable, region, telemetry }: CallNowOptions): CallNow {
  needNames(["leaseTable", leaseTable, "leaseTableName"]);
  const shared = {
    clock: systemClock,
    leases: createLeaseTable(dynamoClient(region === undefined ? {} : { region }), leaseTable),
    models: bedrockModels(),
    telemetry: telemetry ?? { note: () => undefined },
  };
  return callNowOn(shared, checkConfig(config), `call-now-${systemClock.newId()}`);
}
