/**
 * What leases cost and how well they fill a limit, beside two other ways to share one, under the same load and on the
 * same simulated DynamoDB (lognormal round trips of 3.6 ms, 1,000 write units a second for each key; attempts of 5 s).
 * Counted in virtual time, so it is the same on every machine; `npm run bench:leases`.
 */
import type { Lane } from "../../lib/core/lane.ts";
import { counterAndItem, slotItems } from "../simulation/leases/alternatives.ts";
import { breaches } from "../simulation/leases/history.ts";
import {
  attemptsOf,
  refusedPart,
  requestsPerAttempt,
  throttledPart,
  unitsPerAttempt,
  utilisation,
  waitMsOf,
} from "../simulation/leases/measure.ts";
import type { Protocol } from "../simulation/leases/protocol.ts";
import { pages } from "../simulation/leases/protocol.ts";
import { crewsOf, learning, rtOverBulk, takesMoreFromS } from "../simulation/leases/scenarios.ts";
import type { Findings, Scenario } from "../simulation/leases/simulate.ts";
import { simulate } from "../simulation/leases/simulate.ts";

/** What must hold of the worker's own protocol. */
interface Target {
  readonly says: string;
  readonly isMet: (findings: Findings, scenario: Scenario) => boolean;
}

const requestsMost = (most: number): Target => ({
  says: `≤ ${most} requests`,
  isMet: (findings) => requestsPerAttempt(findings) <= most,
});
const inUse: Target = { says: "≥ 95 % in use", isMet: (...run) => utilisation(...run) >= 0.95 };
const keyUnits: Target = { says: "≤ 1,000 WCU/s", isMet: ({ bill }) => bill.unitsPerSMost <= 1_000 };
const rtWait: Target = { says: "rt p99 ≤ 100 ms", isMet: (findings) => waitMsOf(findings, "rt", 99) <= 100 };

interface Row {
  readonly says: string;
  readonly scenario: Scenario;
  /** Whose waits are told. */
  readonly lane: Lane;
  readonly targets: readonly Target[];
}

const spans = { seed: 1, fromS: 20, untilS: 80 };
const alone = (workers: number, limitMax: number, targets: readonly Target[]): Row => ({
  says: `${workers} workers, limit ${limitMax}`,
  scenario: { ...spans, untilS: workers >= 500 ? 50 : spans.untilS, crews: crewsOf({ rt: workers }), limitMax },
  lane: "rt",
  targets: [...targets, keyUnits],
});
const batches = (workers: number, limitMax: number): Row => ({
  says: `${workers} × 10 in batches, limit ${limitMax}`,
  scenario: { ...spans, untilS: 140, crews: [{ lane: "bulk", workers, batch: 10 }], limitMax },
  lane: "bulk",
  targets: [requestsMost(1.2), keyUnits],
});

const rows: readonly Row[] = [
  alone(15, 5, [inUse]),
  alone(40, 50, [requestsMost(2.1)]),
  alone(60, 50, [requestsMost(5.5), inUse]),
  alone(150, 50, [inUse]),
  batches(4, 50),
  {
    says: "limit 50: rt a fifth, bulk 120 workers",
    scenario: { ...rtOverBulk(1), untilS: 135 },
    lane: "rt",
    targets: [rtWait, inUse, keyUnits],
  },
  alone(100, 10, [inUse]),
  alone(100, 100, [inUse]),
  alone(400, 500, [requestsMost(2.1)]),
  alone(600, 500, [requestsMost(5.5), inUse]),
  batches(40, 500),
  alone(800, 1_000, [requestsMost(2.1)]),
  alone(1_000, 1_000, [inUse]),
  alone(1_000, 100, [inUse]),
];

const protocols: readonly (readonly [name: string, make: () => Protocol])[] = [
  ["head and pages", pages],
  ["counter + item", counterAndItem],
  ["slot items", slotItems],
];

const columns = ["requests", "WCU", "in use", "p50 ms", "p99 ms", "no lease", "WCU/s a key", "throttled"] as const;
const line = (first: string, cells: readonly string[], last = "") =>
  console.log([first.padEnd(40), ...cells.map((cell) => cell.padStart(11)), `  ${last}`].join(" ").trimEnd());
const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
const ms = (wait: number) => (wait === Infinity ? "none" : wait.toFixed(0));
const verdictOn = (targets: readonly Target[], findings: Findings, scenario: Scenario) =>
  targets.map(({ says, isMet }) => `${isMet(findings, scenario) ? "✓" : "✗"} ${says}`).join(", ");

let missed = 0;
const judge = (verdict: string) => {
  missed += verdict.split("✗").length - 1;
  return verdict;
};

console.log("Requests and write units (WCU) for each attempt, but for the heads' reads: one a second for each worker.");
console.log(
  "In use: of what the busy lanes may hold. p50, p99: the wait for a lease; none: they had none in the end.\n",
);
line("", columns);
for (const { says, scenario, lane, targets } of rows) {
  console.log(says);
  for (const [name, make] of protocols) {
    const findings = await simulate(scenario, make());
    const isOurs = make === pages;
    const kept: Target = { says: "limit kept", isMet: ({ history }) => breaches(history).length === 0 };
    const cells = [
      requestsPerAttempt(findings).toFixed(2),
      unitsPerAttempt(findings).toFixed(2),
      percent(utilisation(findings, scenario)),
      ms(waitMsOf(findings, lane, 50)),
      ms(waitMsOf(findings, lane, 99)),
      percent(refusedPart(findings, lane)),
      String(findings.bill.unitsPerSMost),
      String(findings.bill.throttled),
    ];
    line(`  ${name}`, cells, isOurs ? judge(verdictOn([kept, ...targets], findings, scenario)) : "");
  }
}

console.log("\nA limit that starts at 40 over a model that takes 12 for three minutes, then 40 (72 rt workers)");
line("", ["≤ 13 after", "then", "throttled", "≥ 36 after"]);
for (const seed of [1, 2, 3]) {
  const scenario = learning(seed, crewsOf({ rt: 72 }));
  const findings = await simulate(scenario, pages());
  const foundS = findings.limits.find(({ limit }) => limit <= 13)?.second ?? Infinity;
  const settled = findings.limits
    .filter(({ second }) => second >= 60 && second < takesMoreFromS)
    .map(({ limit }) => limit);
  const [low, high] = [Math.min(...settled), Math.max(...settled)];
  const throttled = throttledPart(findings, scenario, 60, takesMoreFromS);
  const climbedS =
    (findings.limits.find(({ second, limit }) => second > takesMoreFromS && limit >= 36)?.second ?? Infinity) -
    takesMoreFromS;
  const targets: readonly Target[] = [
    { says: "9–13 within a minute", isMet: () => foundS <= 60 && low >= 9 && high <= 13 },
    { says: "< 5 % throttled", isMet: () => throttled < 0.05 },
    { says: "≥ 36 within 2 minutes", isMet: () => climbedS <= 120 },
  ];
  const cells = [`${foundS.toFixed(0)} s`, `${low}–${high}`, percent(throttled), `${climbedS.toFixed(0)} s`];
  line(
    `  seed ${seed}, ${attemptsOf(findings).toFixed(0)} attempts`,
    cells,
    judge(verdictOn(targets, findings, scenario)),
  );
}

console.log(missed === 0 ? "\nEvery target is met." : `\n${missed} targets are missed.`);
process.exitCode = missed === 0 ? 0 : 1;
