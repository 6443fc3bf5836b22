import { describe, expect, test } from "vitest";
import { clockMachine, onHead, onPage } from "./clocks.ts";
import type { ClockScene } from "./clocks.ts";
import { explore } from "./explore.ts";
import { headMachine } from "./head.ts";
import { groups, lanes, leaseMachine, longerLease, oneLease, twoPages } from "./lease.ts";
import type { Scene } from "./lease.ts";

const minutes = { timeout: 300_000 };

describe("the lease protocol breaks no promise", () => {
  const walks: [says: string, scene: Scene, stepsMax: number][] = [
    ["wherever two clients for one lease may come", oneLease, Infinity],
    ["wherever two clients for one longer lease may come", longerLease, Infinity],
    ["in 14 steps with three messages under way", { ...oneLease, underWayMax: 3 }, 14],
    ["in 15 steps with leases taken and renewed in groups", groups, 15],
    ["in 15 steps on two pages", twoPages, 15],
    ["wherever a lane of half the share may come beside another", lanes, Infinity],
  ];
  test.each(walks)("%s", minutes, (says, scene, stepsMax) => {
    const { states, ...found } = explore(leaseMachine(scene), { stepsMax });
    console.log(`${states.toLocaleString("en")} states: ${says}`);
    expect(found).toEqual({});
  });

  test("in 12 steps with throttles on all pages at once", minutes, () => {
    const { states, ...found } = explore(headMachine(), { stepsMax: 12 });
    console.log(`${states.toLocaleString("en")} states of a head`);
    expect(found).toEqual({});
  });

  const clocks: [says: string, scene: ClockScene, stepsMax: number][] = [
    ["in 14 steps with a clock on the only page", onPage, 14],
    ["wherever a clock on a head may come in two attempts each", onHead, Infinity],
  ];
  test.each(clocks)("%s", minutes, (says, scene, stepsMax) => {
    const { states, ...found } = explore(clockMachine(scene), { stepsMax });
    console.log(`${states.toLocaleString("en")} states: ${says}`);
    expect(found).toEqual({});
  });
});
