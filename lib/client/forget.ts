import { isAnswered } from "../core/claim.ts";
import { forgetting } from "../core/forget.ts";
import type { Clock, JobTable } from "../ports.ts";
import type { Outputs } from "./outputs.ts";
import { stageOf } from "./wait.ts";

const roundsMax = 5;

export type Forgotten =
  /** Of its content nothing is left; its reply says so, and every copy of its message still finds it done. */
  | { readonly kind: "forgotten" }
  /**
   * It has no reply, so that nothing changed: cancel it, or wait for its reply, then forget it. `stage` is absent for a job
   * that no worker has seen, and for one whose row has gone.
   */
  | { readonly kind: "open"; readonly stage?: string };

/** The output in S3 goes first: only the reply says where it is, and whoever dies in between can begin again. */
export async function forget(
  jobId: string,
  jobs: Pick<JobTable, "forget" | "read">,
  outputs: Outputs,
  clock: Pick<Clock, "nowMs">,
): Promise<Forgotten> {
  for (let round = 1; round <= roundsMax; round += 1) {
    const row = await jobs.read(jobId);
    if (!isAnswered(row)) return { kind: "open", ...stageOf(row) };
    const next = forgetting(row.reply, clock.nowMs());
    if (next.kind === "forgotten") return next;
    if (next.outputRef !== undefined) await outputs.removeOutput(next.outputRef);
    const written = await jobs.forget(jobId, row.reply, next.left);
    if (written.kind === "stored") return { kind: "forgotten" };
  }
  throw new Error(
    `job ${jobId} could not be forgotten: its row changed under ${roundsMax} tries, or a newer version wrote it; try once more, with the deployed version's client`,
  );
}
