import { isLane } from "../core/lane.ts";
import { readOverrides } from "../core/override.ts";
import type { LaneOverride, LedgerOverride, OverrideAsk, Overrides } from "../core/override.ts";
import type { LeaseTable } from "../ports.ts";

/** What resuming takes back, so that jobs come there again, whichever of the two kept them away. A limit stands. */
export const resumed = { pausedUntilMs: undefined, out: undefined } as const;

type Leases = Pick<LeaseTable, "readBoard" | "setOverride">;

/**
 * Changes what an operator has said of a lane, or of a target, group or operation (a ledger), and leaves what else he has
 * said of it as it stands. A field set to undefined is taken back; the last one that goes takes the override with it.
 */
export async function changeOverride(
  leases: Leases,
  name: string,
  change: { readonly [Field in keyof LedgerOverride]: LedgerOverride[Field] | undefined },
): Promise<LedgerOverride | LaneOverride> {
  const seen = await overrideOf(leases, name);
  const override = Object.fromEntries(
    Object.entries({ ...seen, ...change }).filter(([, value]) => value !== undefined),
  );
  const isEmpty = Object.keys(override).length === 0;
  const ask: OverrideAsk = isLane(name)
    ? { kind: "lane", name, ...(isEmpty ? {} : { override }) }
    : { kind: "ledger", name, ...(isEmpty ? {} : { override }) };
  await leases.setOverride(ask);
  return override;
}

/** What operators have said of a lane or a ledger. Consistent: what was said a moment ago would be written over. */
export async function overrideOf(
  leases: Pick<LeaseTable, "readBoard">,
  name: string,
): Promise<LedgerOverride | LaneOverride> {
  const none = { ledgers: [], targets: [], lanes: [], models: [], consistent: true } as const;
  const rows = await leases.readBoard(isLane(name) ? { ...none, lanes: [name] } : { ...none, ledgers: [name] });
  const { overrides }: { overrides: Overrides } = readOverrides(rows.overrides, () => true);
  return (isLane(name) ? overrides.lanes.get(name) : overrides.ledgers.get(name)) ?? {};
}
