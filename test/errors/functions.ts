import { join } from "node:path";
import { deadLetterSettingsOf, sweeperSettingsOf, workerSettingsOf } from "../../lib/aws/settings.ts";
import { readLaneOverride, readLedgerOverride, readModelOverride } from "../../lib/core/override.ts";
import type { ReadOverride } from "../../lib/core/override.ts";
import { widgetAsk } from "../../lib/widget/event.ts";
import type { Entry, Group } from "./entry.ts";
import { thrownBy } from "./entry.ts";

/** The directory of this checkout is nobody else's. */
const root = join(import.meta.dirname, "../..");

const settings: readonly Entry[] = [
  [
    "The config that synth wrote into the bundle is not there, or is not one that this version takes.",
    async () => (await thrownBy(() => import("../../functions/opening.ts"))).replaceAll(`${root}/`, ""),
  ],
  [
    "A function that the stack did not make, or whose environment was changed.",
    () => thrownBy(() => sweeperSettingsOf({})),
  ],
  ["The same.", () => thrownBy(() => workerSettingsOf({ SLUICE_LANE: "fast" }))],
  [
    "Somebody has mapped another queue to the function of the dead letters.",
    () => thrownBy(() => deadLetterSettingsOf({}, "arn:aws:sqs:us-west-2:123456789012:mine")),
  ],
];

function troubleOf({ troubles }: ReadOverride<unknown>): string {
  const [only, ...more] = troubles;
  if (only === undefined || more.length > 0) throw new Error("not one trouble");
  return only;
}

const ledger = (row: unknown) => () => troubleOf(readLedgerOverride(row));

const overrides: readonly Entry[] = [
  ["", ledger(5), "Write a map."],
  ["A name that is none of the row's.", ledger({ limits: 5 }), "Correct its spelling."],
  ["", ledger({ limit: "five" }), "Write a number; no limit is kept until then."],
  ["", ledger({ limit: 0 }), "1 is kept; write `out` to send nothing there."],
  ["", ledger({ limit: 2.5 }), "The whole number below is kept."],
  [
    "",
    () => troubleOf(readLaneOverride({ pausedUntilMs: "tomorrow" })),
    "Write epoch milliseconds; nothing is paused until then.",
  ],
  [
    "Most often seconds.",
    ledger({ pausedUntilMs: 1_795_960_000 }),
    "Write epoch milliseconds; nothing is paused until then.",
  ],
  [
    "",
    () => troubleOf(readLaneOverride({ budgetUsd: "fifty" })),
    "Write USD, 0 or more; the config's `dailyBudgetUsd` is kept until then.",
  ],
  ["", ledger({ out: "yes" }), "Write a BOOL; nothing is taken out until then."],
  [
    "",
    () => troubleOf(readModelOverride({ chain: "smart-text" }, () => true)),
    "Write a list; the config's order is kept until then.",
  ],
  [
    "Steps or models that the worker's config does not have.",
    () => troubleOf(readModelOverride({ chain: ["clever-text"] }, () => false)),
    "Correct the name; the other steps of the list are in its order.",
  ],
];

function widgetFault(event: object): string {
  const ask = widgetAsk(event, () => false);
  if (ask.kind !== "fault") throw new Error("the widget understands it");
  return ask.message;
}

const widget: readonly Entry[] = [
  ["", () => widgetFault({ action: "cancel" })],
  ["", () => widgetFault({ action: "pause", name: "clever-text@mars" })],
  ["", () => widgetFault({ action: "delete" })],
];

export const functionErrors: readonly Group[] = [
  {
    title: "A function that does not start",
    about:
      "In the function's log, at each invocation; `FunctionErrors` rings, and the messages wait. What is wrong with a config is told as [above](#the-config).",
    entries: settings,
  },
  {
    title: "An override that cannot be understood",
    about:
      "What an operator wrote into the lease table. In the workers' logs, once, behind the row that it is about; the rest of the row holds.",
    entries: overrides,
  },
  {
    title: "A button of the dashboard's widget",
    about: "Shown behind `Nothing was done:`. What AWS refuses is shown there too, by its name, with what to do.",
    entries: widget,
  },
];
