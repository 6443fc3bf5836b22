import type { Wanted } from "../../../lib/core/ledgers.ts";
import type { Lease, LeaseAsk, NoLease } from "../../../lib/core/lease.ts";
import { laneCap } from "../../../lib/core/lease.ts";
import { leaseMs } from "../../../lib/core/limits.ts";
import type { Clock } from "../../../lib/ports.ts";
import type { TakenLease } from "../../../lib/worker/lease-desk.ts";
import { lognormal } from "./dice.ts";
import { named } from "./dynamo.ts";
import type { Desk, Protocol, Site } from "./protocol.ts";

/** The polls of the worker's own line, so that only the protocols differ. */
const [pollMsBase, pollMsMax] = [200, 1_000];
/** Between a transaction's two phases its items are locked: one more trip inside DynamoDB. */
const lockMsMean = 3.6;
const conflictMsBase = 10;
/** Who takes may poll again; what is not returned would be missing until it lapses. */
const conflictTriesMax = { take: 3, giveBack: 20 };
/** Random slots that one look tries. */
const slotsTriedMax = 10;

/**
 * A counter and an item for each lease, changed together in one transaction: two units for each item, each way. Two
 * transactions that meet on the counter cancel each other, and the one that is cancelled tries again.
 */
export function counterAndItem(): Protocol {
  const leases = new Map<string, number>();
  const locked = new Set<string>();

  const open = ({ clock, client, dice }: Site): Desk => {
    /** False: the condition refused. */
    const transact = async (
      verb: "take" | "giveBack",
      ledger: string,
      id: string,
      apply: () => boolean,
    ): Promise<boolean> => {
      const keys = [`C#${ledger}`, `I#${id}`];
      for (let tries = 1; ; tries++) {
        try {
          return await client.send({ verb, keys, units: 2 }, async () => {
            if (keys.some((key) => locked.has(key))) throw named("TransactionCanceledException");
            for (const key of keys) locked.add(key);
            await clock.sleep(lognormal(dice, lockMsMean, 0.5));
            for (const key of keys) locked.delete(key);
            return apply();
          });
        } catch (error) {
          if (tries >= conflictTriesMax[verb]) throw error;
          await clock.sleep(dice() * Math.min(pollMsMax, conflictMsBase * 2 ** tries));
        }
      }
    };

    return deskOf(clock, {
      look: async ({ ledger, share, limitMax }, id) => {
        const take = () => {
          if (leases.size >= laneCap(limitMax, share)) return false;
          leases.set(id, clock.nowMs() + leaseMs);
          return true;
        };
        return (await transact("take", ledger, id, take).catch(() => false)) ? id : undefined;
      },
      renew: (id) => client.send({ verb: "renew", keys: [`I#${id}`], units: 1 }, async () => undefined),
      giveBack: async (id, { ledger }) => {
        await transact("giveBack", ledger, id, () => leases.delete(id));
      },
    });
  };
  return { open, left: async () => leases.size };
}

/** An item for each slot; who wants one tries some by lot. A lane's share is the slots that it may try. */
export function slotItems(): Protocol {
  const slots = new Map<number, string>();
  const open = ({ clock, client, dice }: Site): Desk => {
    const onSlot = <Answer>(verb: string, { ledger }: LeaseAsk, slot: number, apply: () => Answer) =>
      client.send({ verb, keys: [`S#${ledger}#${slot}`], units: 1 }, async () => apply());
    const mine = new Map<string, number>();
    return deskOf(clock, {
      look: async (ask, id) => {
        const cap = laneCap(ask.limitMax, ask.share);
        const tried = new Set<number>();
        while (tried.size < Math.min(cap, slotsTriedMax)) {
          const slot = Math.floor(dice() * cap);
          if (tried.has(slot)) continue;
          tried.add(slot);
          const take = () => {
            if (slots.has(slot)) return false;
            slots.set(slot, id);
            return true;
          };
          if (!(await onSlot("take", ask, slot, take))) continue;
          mine.set(id, slot);
          return id;
        }
        return undefined;
      },
      renew: (id, ask) => onSlot("renew", ask, mine.get(id) ?? 0, () => undefined),
      giveBack: async (id, ask) => {
        const slot = mine.get(id) ?? 0;
        mine.delete(id);
        await onSlot("giveBack", ask, slot, () => {
          if (slots.get(slot) === id) slots.delete(slot);
        });
      },
    });
  };
  return { open, left: async () => slots.size };
}

interface Verbs {
  /** One look at the table: the lease's id, or undefined when all is taken. */
  readonly look: (ask: LeaseAsk, id: string) => Promise<string | undefined>;
  readonly renew: (id: string, ask: LeaseAsk) => Promise<void>;
  readonly giveBack: (id: string, ask: LeaseAsk) => Promise<void>;
}

/** The least desk that can stand in for the worker's own where nothing is lost and nobody dies. */
function deskOf(clock: Clock, verbs: Verbs): Desk {
  const held = new Map<string, { readonly ask: LeaseAsk; takenAtMs: number }>();
  const never = new AbortController().signal;

  const take = async (wanted: Wanted, until: { readonly waitMs: number }): Promise<TakenLease | NoLease> => {
    const [ask] = wanted.asks;
    if (ask === undefined) throw new Error("one ledger is all that these know");
    const untilMs = clock.nowMs() + until.waitMs;
    const newId = clock.newId();
    try {
      for (let round = 0; ; round++) {
        const id = await verbs.look(ask, newId);
        const nowMs = clock.nowMs();
        if (id !== undefined) {
          held.set(id, { ask, takenAtMs: nowMs });
          const lease: Lease = { id, ref: { ledger: ask.ledger, page: 0 }, expiresAtMs: nowMs + leaseMs };
          return { kind: "taken", wanted, tags: {}, leases: [lease], takenAtMs: nowMs, lost: never };
        }
        if (nowMs >= untilMs) return { kind: "full" };
        const pollMs = Math.min(pollMsMax, pollMsBase * 2 ** round) * (0.5 + clock.jitter());
        await clock.sleep(Math.min(pollMs, untilMs - nowMs));
      }
    } catch (error) {
      return { kind: "infra", error };
    }
  };

  return {
    take,
    giveBack: async ({ leases: [{ id }] }) => {
      const lease = held.get(id);
      held.delete(id);
      // An item that is left lapses; here nobody waits for that.
      if (lease !== undefined) await verbs.giveBack(id, lease.ask).catch(() => undefined);
    },
    renew: async () => {
      await Promise.all([...held].map(([id, { ask }]) => verbs.renew(id, ask).catch(() => undefined)));
    },
    idle: async () => undefined,
  };
}
