import { targetsOf } from "../core/config.ts";
import type { Config } from "../core/config.ts";
import type { Lane } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import type { World } from "../ports.ts";
import { Board } from "./board.ts";
import { Budgets } from "./budgets.ts";
import { Crowd } from "./crowd.ts";
import { HeldObjects } from "./held-objects.ts";
import type { Worker } from "./invocation.ts";
import { KeptReplies } from "./kept-replies.ts";
import { LeaseDesk } from "./lease-desk.ts";

/** Who a worker is, and how it names a job's content. */
export interface Identity {
  readonly lane: Lane;
  readonly name: string;
  readonly version: string;
  /** The same text gives the same digest in every process. */
  readonly digest: (text: string) => string;
}

/** A container's worker on a World. It asks nobody: whatever is wrong below shows with the first record. */
export function openWorker(world: World, config: Config, identity: Identity): Worker {
  const names = {
    ledgers: [...ledgersOf(config).keys()],
    targets: targetsOf(config).map(({ step }) => step),
    models: Object.keys(config.models),
  };
  const budgets = new Budgets(world, config);
  const board = new Board(world, names, budgets);
  return {
    ...identity,
    config,
    world,
    board,
    budgets,
    desk: new LeaseDesk(world, board, identity.name),
    kept: new KeptReplies(),
    objects: new HeldObjects(world.objects),
    crowd: new Crowd(world),
  };
}
