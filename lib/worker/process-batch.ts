import { dedupe } from "../core/batch.ts";
import type { Delivery } from "../core/job.ts";
import { recordsConcurrencyMax } from "../core/limits.ts";
import { againDelayS, notBegunDelayS } from "../core/release.ts";
import { atMost } from "./at-most.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { hidingFacts } from "./hiding-facts.ts";
import { flushKept } from "./kept-replies.ts";
import { openInvocation } from "./invocation.ts";
import type { Invocation, Worker } from "./invocation.ts";
import { processRecord } from "./process-record.ts";
import { settleUnclaimed } from "./settle-record.ts";
import type { Settled } from "./settle-record.ts";
import { troubleOf } from "./trouble.ts";

/** What is done with one record, from its message to its end. */
type Process = (invocation: Invocation, delivery: Delivery) => Promise<Settled>;

/**
 * Runs the records of one invocation and answers the message ids that must come again. It answers before the
 * invocation's end even if a promise hangs, and no timer or request that it started outlives it.
 */
export async function processBatch(
  worker: Worker,
  records: readonly Delivery[],
  endsAtMs: number,
  process: Process = processRecord,
): Promise<string[]> {
  const { clock, telemetry } = worker.world;
  const deliveries = dedupe(records);
  const invocation = openInvocation(worker, deliveries, endsAtMs);
  const again = new Set(deliveries.map(({ messageId }) => messageId));

  // Sent beside the claims, not before them: no claim need wait for SQS.
  void invocation.visibility.hold(deliveries);
  invocation.stragglers.push(flushKept(invocation));
  const stopHeartbeat = startHeartbeat(invocation);
  const cancelBell = clock.after(invocation.bellAtMs - clock.nowMs(), () => ringTheBell(invocation));

  const allSettled = inChunks(deliveries, async (delivery) => {
    if ((await guarded(invocation, delivery, process)) === "acknowledged") again.delete(delivery.messageId);
  });
  // Whatever hangs past the last call is reported, and comes again.
  await atMost(clock, invocation.lastCallAtMs - clock.nowMs(), allSettled);

  // Those that hang let go too, and hold nothing that they read later.
  for (const delivery of deliveries) worker.objects.letGo(delivery);
  cancelBell();
  invocation.tasks.close();
  // The heartbeat first: its last beat may still be hiding messages.
  const quiet = Promise.all([stopHeartbeat(), worker.budgets.write(invocation.lastCallAtMs)]).then(() =>
    nothingUnderWay(invocation),
  );
  await atMost(clock, invocation.lastCallAtMs - clock.nowMs(), quiet);
  telemetry.note({ kind: "invoked", lane: worker.lane, records: deliveries.length, ...invocation.meter.read() });
  return [...again];
}

async function inChunks(deliveries: readonly Delivery[], act: (delivery: Delivery) => Promise<void>): Promise<void> {
  for (let from = 0; from < deliveries.length; from += recordsConcurrencyMax)
    await Promise.all(deliveries.slice(from, from + recordsConcurrencyMax).map(act));
}

/** Resolves when no request of this invocation is under way. */
async function nothingUnderWay({ worker, visibility, stragglers }: Invocation): Promise<void> {
  await Promise.allSettled([visibility.idle(), worker.board.idle(), worker.desk.idle(), ...stragglers]);
}

/** One record, walled off: whatever goes wrong with it is its own trouble, and never deletes its message. */
async function guarded(invocation: Invocation, delivery: Delivery, process: Process): Promise<Settled> {
  const { telemetry } = invocation.worker.world;
  invocation.turns.enter();
  try {
    if (invocation.bellHasRung) {
      const delayS = notBegunDelayS(hidingFacts(invocation, delivery));
      return await settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why: "turn" });
    }
    return await process(invocation, delivery);
  } catch (error) {
    const { messageId, lane } = delivery;
    telemetry.note({ ...troubleOf("process a record", error), messageId, lane });
    const delayS = againDelayS(hidingFacts(invocation, delivery));
    return await settleUnclaimed(invocation, delivery, { kind: "hide", delayS, why: "trouble" });
  } finally {
    invocation.meter.forget(delivery);
    invocation.worker.objects.letGo(delivery);
    invocation.turns.leave();
  }
}

/** Nothing begins any more; what is still running is cut, gives back its lease and its claim, and is reported. */
function ringTheBell(invocation: Invocation): void {
  const { telemetry } = invocation.worker.world;
  invocation.bellHasRung = true;
  invocation.turns.close();
  for (const run of invocation.running) {
    telemetry.note({ ...run.tags, kind: "bell" });
    run.cut("bell");
  }
}
