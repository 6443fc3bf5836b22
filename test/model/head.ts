/**
 * The head of a ledger as a machine: workers that see it late, throttles on several pages at once, and writes that are
 * delayed, lost or repeated.
 */
import type { Head } from "../../lib/core/lease.ts";
import { cut, raise, sameHead } from "../../lib/core/limit.ts";
import type { Machine } from "./explore.ts";

/** What a mutant may swap. */
export interface HeadProtocol {
  readonly cut: typeof cut;
  readonly raise: typeof raise;
  /** Whether a write may change the head that stands. */
  readonly allows: (stands: Head | undefined, seen: Head | undefined) => boolean;
  /** Where what is learned on a page is written. */
  readonly headOf: (page: number) => number;
}

export const trueHead: HeadProtocol = { cut, raise, allows: sameHead, headOf: () => 0 };

type Heads = readonly (Head | undefined)[];

interface HeadWrite {
  readonly client: number;
  readonly at: number;
  readonly seen: Head | undefined;
  readonly next: Head;
}

export interface HeadWorld {
  readonly nowMs: number;
  readonly heads: Heads;
  /** What each client knows of the heads. */
  readonly known: readonly Heads[];
  readonly underWay: readonly HeadWrite[];
  readonly cutAtMs: number;
  readonly wrong: string;
}

const bounds = { limitStart: 2, limitMax: 3 };
const pages = 2;
const clients = [
  { skewMs: -250, retryAfterMs: 10_000 },
  { skewMs: 250, retryAfterMs: undefined },
];
const underWayMax = 2;
const tickMs = 1_000;
/** One cut in so long, whoever writes it. */
const cooldownMs = 2_000;

export function headMachine(protocol: HeadProtocol = trueHead): Machine<HeadWorld> {
  function steps(world: HeadWorld): (readonly [string, HeadWorld])[] {
    const next: (readonly [string, HeadWorld])[] = [["time passes", { ...world, nowMs: world.nowMs + tickMs }]];
    const may = (did: string, change: Partial<HeadWorld>) => {
      if ((change.underWay ?? []).length <= underWayMax) next.push([did, { ...world, ...change }]);
    };

    for (const [client, { skewMs, retryAfterMs }] of clients.entries())
      for (let page = 0; page < pages; page++) {
        const nowMs = world.nowMs + skewMs;
        const at = protocol.headOf(page);
        const seen = world.known[client]?.[at];
        const change = (did: string, to: Head | undefined) => {
          if (to !== undefined) may(did, { underWay: [...world.underWay, { client, at, seen, next: to }] });
        };
        change(`client ${client} is throttled on page ${page}`, protocol.cut(seen, bounds, nowMs, retryAfterMs));
        change(`client ${client} raises`, protocol.raise(seen, bounds, bounds.limitMax, nowMs));
        may(`client ${client} reads`, { known: world.known.with(client, world.heads) });
      }

    for (const [number, message] of world.underWay.entries()) {
      const others = world.underWay.toSpliced(number, 1);
      may("a write comes, and comes again", written(world, message));
      may("a write comes", { ...written(world, message), underWay: others });
      may("a write is lost", { underWay: others });
    }
    return next;
  }

  /** Written or refused, its sender learns what stands. */
  function written(world: HeadWorld, { client, at, seen, next }: HeadWrite): Partial<HeadWorld> {
    const stands = world.heads[at];
    const allowed = protocol.allows(stands, seen);
    const heads = allowed ? world.heads.with(at, next) : world.heads;
    const known = world.known.with(client, heads);
    if (!allowed) return { known };

    const { cutAtMs = -Infinity } = next;
    const isCut = cutAtMs !== (seen?.cutAtMs ?? -Infinity);
    let wrong = "";
    if (isCut && Math.abs(cutAtMs - world.cutAtMs) <= cooldownMs) wrong = "the limit is cut twice in a cooldown";
    if ((next.pausedUntilMs ?? -Infinity) < (stands?.pausedUntilMs ?? -Infinity))
      wrong = "a pause ends before its time";
    if (cutAtMs < (stands?.cutAtMs ?? -Infinity)) wrong = "a cut is forgotten";
    return { known, heads, wrong, cutAtMs: isCut ? cutAtMs : world.cutAtMs };
  }

  return {
    start: { nowMs: 0, heads: [undefined, undefined], known: [[], []], underWay: [], cutAtMs: -Infinity, wrong: "" },
    keyOf: (world) => JSON.stringify(world),
    steps,
    broken: ({ heads, wrong }) => [wrong, heads.every(isWithinBounds) ? "" : "the limit leaves its bounds"],
  };
}

function isWithinBounds(head: Head | undefined): boolean {
  const limit = head?.lim ?? bounds.limitStart;
  return limit >= 1 && limit <= bounds.limitMax;
}
