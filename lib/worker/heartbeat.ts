import { errorName } from "../core/error-name.ts";
import { heartbeatMs, holdMs } from "../core/limits.ts";
import type { Invocation } from "./invocation.ts";
import type { Run } from "./run.ts";

/**
 * Beats every 10 s for the jobs that are still running: leases, claims and visibility are extended, cancel is read.
 * Returns how to stop it; after that no beat begins, and those under way are waited for.
 */
export function startHeartbeat(invocation: Invocation): () => Promise<void> {
  const { clock } = invocation.worker.world;
  const stopped = new AbortController();
  const beats: Promise<void>[] = [];
  const beating = (async () => {
    while (!stopped.signal.aborted) {
      await clock.sleep(heartbeatMs, stopped.signal);
      // Not waited for: one request that hangs must not keep the next beat from the others.
      if (!stopped.signal.aborted) beats.push(beat(invocation));
    }
  })();
  return async () => {
    stopped.abort();
    await beating;
    await Promise.all(beats);
  };
}

async function beat(invocation: Invocation): Promise<void> {
  const { desk } = invocation.worker;
  const running = [...invocation.running];
  await Promise.all([
    desk.renew(), // aborts the attempts of leases that are lost
    ...running.map(extend),
    invocation.visibility.hold(invocation.deliveries),
  ]);
}

/** One write a claim; its row says whether somebody asked to cancel. */
async function extend(run: Run): Promise<void> {
  const { clock, jobs, telemetry } = run.invocation.worker.world;
  const nowMs = clock.nowMs();
  try {
    const heldUntilMs = nowMs + holdMs;
    const owned = await jobs.extend(run.claim, { nowMs, heldUntilMs, stage: run.stageRow });
    if (!run.invocation.running.has(run)) return; // settled meanwhile
    if (owned.kind === "lost") return run.cut("claim-lost");
    run.holdUntil(heldUntilMs);
    if (owned.row.cancelAsked) run.cut("cancelled");
  } catch (error) {
    // The claim still holds until its own end, which the next beat may move.
    telemetry.note({ ...run.tags, kind: "trouble", what: "extend the claim", error: errorName(error) });
  }
}
