import type { Cut } from "../core/attempt.ts";
import { progressOf } from "../core/claim.ts";
import type { Claim, JobRow, Progress } from "../core/claim.ts";
import { stepParts } from "../core/config.ts";
import type { Delivery, Job } from "../core/job.ts";
import type { Happened, Tags } from "../core/noted.ts";
import type { StepReport } from "../core/reply.ts";
import type { Stage, StageRow } from "../core/stage.ts";
import { stageText } from "../core/stage.ts";
import type { Clock } from "../ports.ts";
import type { Board } from "./board.ts";
import type { Invocation } from "./invocation.ts";
import type { Doing } from "./meter.ts";

/** A claimed job while one delivery runs it: what the loop, the heartbeat and the bell share. */
export class Run {
  readonly invocation: Invocation;
  readonly delivery: Delivery;
  readonly job: Job;
  readonly claim: Claim;
  readonly claimedAtMs: number;
  /** Fires when the run is cut; whatever is under way for this job ends at once. */
  readonly signal: AbortSignal;
  progress: Progress;
  /** Waited for leases in this delivery, ms by step. */
  readonly leaseWaits = new Map<string, number>();
  /** Slept in this delivery. */
  sleptMs = 0;
  steps: StepReport[] = [];
  /** The step that the plan begins with: an answer of any other is a fallback. */
  firstStep: string | undefined;
  #stage: Stage = { kind: "queued" };
  #stageAtMs: number;
  #step: string | undefined;
  #attempt: { readonly step: string; readonly number: number } | undefined;
  #cutBy: Cut | undefined;
  #heldUntilMs = 0;
  #cancelEnd: () => void = () => undefined;
  readonly #abort = new AbortController();

  constructor(invocation: Invocation, delivery: Delivery, job: Job, claim: Claim, row: JobRow, heldUntilMs: number) {
    this.invocation = invocation;
    this.delivery = delivery;
    this.job = job;
    this.claim = claim;
    this.progress = progressOf(row);
    this.signal = this.#abort.signal;
    this.claimedAtMs = invocation.worker.world.clock.nowMs();
    this.#stageAtMs = this.claimedAtMs;
    this.holdUntil(heldUntilMs);
  }

  get clock(): Clock {
    return this.invocation.worker.world.clock;
  }

  get board(): Board {
    return this.invocation.worker.board;
  }

  get tags(): Tags {
    return this.#tagsOn(this.#step);
  }

  /** Notes what happened to this job, on the step it is at or on the one named. */
  note(happened: Happened, step = this.#step): void {
    this.invocation.worker.world.telemetry.note({ ...this.#tagsOn(step), ...happened });
  }

  /** From here on what is noted on the step bears the attempt's number. */
  begin(step: string, attempt: number): void {
    this.#attempt = { step, number: attempt };
  }

  #tagsOn(step: string | undefined): Tags {
    return {
      jobId: this.job.jobId,
      messageId: this.delivery.messageId,
      lane: this.job.lane,
      fence: this.claim.fence,
      ...targetTags(step),
      ...(this.#attempt === undefined || this.#attempt.step !== step ? {} : { attempt: this.#attempt.number }),
    };
  }

  /** The stage in memory and in the log; the row hears of it with the next write that happens anyway. */
  show(stage: Stage): void {
    this.#stage = stage;
    this.#stageAtMs = this.invocation.worker.world.clock.nowMs();
    if ("step" in stage) this.#step = stage.step;
    this.invocation.meter.set(this.delivery, doing(stage));
    this.note({ kind: "stage", stage: stageText(stage) });
  }

  get stageRow(): StageRow {
    return {
      stage: stageText(this.#stage),
      stageAtMs: this.#stageAtMs,
      ...(this.#step === undefined ? {} : { step: this.#step }),
      ...(this.#stage.kind === "requeued" ? { cause: this.#stage.cause } : {}),
    };
  }

  /** The first cut counts: what comes later finds the run ended already. */
  cut(by: Cut): void {
    this.#cutBy ??= by;
    this.#abort.abort(by);
  }

  /** Why this run was cut, if it was. A sandbox that was frozen wakes up before its timers: the clock is asked as well. */
  get cutBy(): Cut | undefined {
    const nowMs = this.clock.nowMs();
    if (this.#cutBy !== undefined) return this.#cutBy;
    if (nowMs >= this.#heldUntilMs) return "claim-lost";
    if (nowMs >= this.job.deadlineAtMs) return "deadline";
    return nowMs >= this.invocation.bellAtMs ? "bell" : undefined;
  }

  /** The claim's end needs no answer from anybody: a run that nothing extends is over when another may take its job. */
  holdUntil(untilMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs);
    this.#cancelEnd();
    this.#cancelEnd = this.clock.after(this.#heldUntilMs - this.clock.nowMs(), () => this.cut("claim-lost"));
  }

  /** The run has settled: nothing of it is left to cut. */
  close(): void {
    this.#cancelEnd();
  }

  add(more: Partial<Progress>): void {
    this.progress = { ...this.progress, ...more };
  }
}

function targetTags(step: string | undefined): Pick<Tags, "model" | "target"> {
  return step === undefined ? {} : stepParts(step);
}

function doing(stage: Stage): Doing {
  switch (stage.kind) {
    case "queued":
    case "requeued":
    case "ended":
      return "working";
    case "waiting":
    case "backoff":
      return "waiting";
    case "attempt":
      return "asking";
  }
}
