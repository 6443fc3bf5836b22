import { changed } from "./culprit.ts";
import type { Culprit } from "./culprit.ts";

const scenario = "budgets that are spent before midnight";

export const culpritsOfBudgets: readonly Culprit[] = [
  {
    law: "§14",
    says: "a worker that hears of no spending",
    scenario,
    mutant: {
      view: (world) =>
        changed(world, "leases", {
          readBoard: async (names) => ({ ...(await world.leases.readBoard(names)), spent: new Map() }),
        }),
    },
  },
  {
    law: "§14",
    says: "a worker that writes half of what it spends",
    scenario,
    mutant: {
      view: (world) =>
        changed(world, "leases", {
          addSpent: (of, addition, ttlS) =>
            world.leases.addSpent(of, { ...addition, nanoUsd: Math.floor(addition.nanoUsd / 2) }, ttlS),
        }),
    },
  },
];
