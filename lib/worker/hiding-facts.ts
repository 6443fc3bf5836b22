import type { Delivery, Job } from "../core/job.ts";
import type { Hiding } from "../core/release.ts";
import type { Invocation } from "./invocation.ts";

type HidingFacts = Hiding & { readonly nowMs: number };

/** What bounds every hiding of this message; before its envelope is read there is no job. */
export function hidingFacts(invocation: Invocation, delivery: Delivery): HidingFacts;
export function hidingFacts(
  invocation: Invocation,
  delivery: Delivery,
  job: Job,
): HidingFacts & { readonly deadlineLeftMs: number };
export function hidingFacts(invocation: Invocation, delivery: Delivery, known?: Job): HidingFacts {
  const { crowd, world } = invocation.worker;
  const job = known ?? invocation.jobs.get(delivery.messageId);
  const { clock } = world;
  const nowMs = clock.nowMs();
  const heartbeatSeconds = job?.replyTo?.kind === "taskToken" ? job.replyTo.heartbeatSeconds : undefined;
  return {
    nowMs,
    lane: delivery.lane,
    receives: delivery.isDead === true ? 0 : delivery.receives,
    sinceReceiveMs: nowMs - delivery.receivedAtMs,
    jitter: clock.jitter(),
    ...crowd.facts,
    ...(job === undefined ? {} : { deadlineLeftMs: Math.max(0, job.deadlineAtMs - nowMs) }),
    ...(heartbeatSeconds === undefined ? {} : { heartbeatSeconds }),
  };
}
