import { createMemoryWorld } from "../../../lib/memory/world.ts";
import { faultKinds, kindsAt } from "./faults.ts";
import type { FaultKind } from "./faults.ts";
import type { History } from "./history.ts";

/** What was tried: runs, and how often each kind of fault met each boundary. */
export class Tally {
  runs = 0;
  broken = 0;
  readonly #calls = new Map<string, number>(boundaries().map((name) => [name, 0]));
  readonly #faults = new Map<string, number>();

  add({ moments }: History, isBroken: boolean): void {
    this.runs += 1;
    if (isBroken) this.broken += 1;
    for (const moment of moments) {
      if (moment.kind !== "called") continue;
      const { name, met } = moment.call;
      this.#calls.set(name, (this.#calls.get(name) ?? 0) + 1);
      for (const kind of met) this.#faults.set(`${name} ${kind}`, this.at(name, kind) + 1);
    }
  }

  at(name: string, kind: FaultKind): number {
    return this.#faults.get(`${name} ${kind}`) ?? 0;
  }

  /** A line a boundary: one that nothing touched shows as 0. A dot: it cannot happen there. */
  text(): string {
    const head = ["".padEnd(26), "calls".padStart(8), ...faultKinds.map((kind) => brief(kind).padStart(7))].join("");
    const lines = [...this.#calls]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, calls]) => {
        const possible = kindsAt(name);
        const counts = faultKinds.map((kind) =>
          (possible.includes(kind) ? String(this.at(name, kind)) : "·").padStart(7),
        );
        return [name.padEnd(26), String(calls).padStart(8), ...counts].join("");
      });
    return [head, ...lines, `${this.runs} runs, ${this.broken} of them broken`].join("\n");
  }
}

function brief(kind: FaultKind): string {
  return kind.replace("-before", "<").replace("-after", ">").slice(0, 6);
}

/** What the adapters in memory have beside their ports: nobody calls it over a wire. */
const asides = new Set(["put", "rows", "load", "delete", "depth", "nextVisibleAtMs", "receive"]);

/** Every method of every port that can fail. */
function boundaries(): readonly string[] {
  const world = createMemoryWorld({ startMs: 0, lane: "bg" });
  const { clock: _clock, telemetry: _telemetry, noted: _noted, ...ports } = world;
  return Object.entries(ports).flatMap(([port, methods]) =>
    Object.entries(methods).flatMap(([method, act]) =>
      typeof act === "function" && !asides.has(method) ? [`${port}.${method}`] : [],
    ),
  );
}
