import { errorName } from "../core/error-name.ts";
import type { Noted } from "../core/noted.ts";
import type { Clock, Telemetry } from "../ports.ts";
import { atMost } from "./at-most.ts";

/** Whose job it is, and what happened to it. Times are ms. */
type Told<Kind extends Noted["kind"]> = Omit<Extract<Noted, { readonly kind: Kind }>, "kind"> & {
  readonly jobId: string;
};

/** `over` fires when the invocation ends: nobody waits for a hook that is still at work then. */
type Hook<Facts> = (facts: Facts, over: AbortSignal) => unknown;

/**
 * What an owner of the functions hears of his jobs: facts, never a prompt or an output. A hook may be async. It decides
 * nothing and holds nothing up but the end of the invocation, and that for a second at most; one that throws, or is not done
 * by then, is a line in the log.
 */
export interface Hooks {
  /** A worker has claimed the job. */
  readonly onRun?: Hook<Omit<Told<"claimed">, "queueMs">>;
  /** How long it lay in the queue until then, since it was sent. */
  readonly onQueueWait?: Hook<Told<"claimed">>;
  /** Bedrock has been asked once: with which outcome, for how long, for how many tokens and USD. */
  readonly onAttempt?: Hook<Told<"attempted">>;
  /** A step behind the first, `model` at `target`, is about to be tried. */
  readonly onFallback?: Hook<Told<"fallback">>;
  /**
   * Its reply is stored; a few are stored by the reply-store, the dead letters' worker and the sweeper. To an envelope with
   * a fault too: then it is all that is told of the job.
   */
  readonly onReply?: Hook<Told<"replied">>;
}

export interface HookedTelemetry extends Telemetry {
  /** Waits for the hooks that are at work, no longer than `ms`, and forgets those that are not done. */
  idle(ms: number): Promise<void>;
}

interface Call {
  readonly hook: keyof Hooks;
  readonly run: (over: AbortSignal) => unknown;
}

/** Notes as `telemetry` does, and tells the hooks. */
export function hookedTelemetry(telemetry: Telemetry, hooks: Hooks, clock: Clock): HookedTelemetry {
  const atWork = new Map<Promise<void>, keyof Hooks>();
  let over = new AbortController();

  async function start({ hook, run }: Call, jobId: string): Promise<void> {
    const { signal } = over;
    try {
      await Promise.resolve(); // whoever notes something is not to wait for a hook, nor to hear of its error
      await run(signal);
    } catch (error) {
      if (!signal.aborted) telemetry.note({ kind: "trouble", what: `hook ${hook}`, error: errorName(error), jobId });
    }
  }

  return {
    note(event) {
      telemetry.note(event);
      const { jobId } = event;
      if (jobId === undefined) return;
      for (const call of callsOf({ ...event, jobId }, hooks)) {
        const done = start(call, jobId);
        atWork.set(done, call.hook);
        void done.then(() => atWork.delete(done));
      }
    },
    async idle(ms) {
      await atMost(clock, ms, Promise.all(atWork.keys()));
      const late = new Set(atWork.values());
      if (late.size === 0) return;
      atWork.clear();
      over.abort();
      over = new AbortController();
      for (const hook of late) telemetry.note({ kind: "trouble", what: `hook ${hook}`, error: "TimeoutError" });
    },
  };
}

/** In the order in which they are called. */
function callsOf(event: Noted & { readonly jobId: string }, hooks: Hooks): readonly Call[] {
  if (event.kind === "claimed") {
    const { kind: _kind, queueMs, ...facts } = event;
    return [...told("onRun", hooks.onRun, facts), ...told("onQueueWait", hooks.onQueueWait, { ...facts, queueMs })];
  }
  if (event.kind === "attempted") return told("onAttempt", hooks.onAttempt, factsOf(event));
  if (event.kind === "fallback") return told("onFallback", hooks.onFallback, factsOf(event));
  if (event.kind === "replied") return told("onReply", hooks.onReply, factsOf(event));
  return [];
}

function factsOf<Event extends { readonly kind: string }>(event: Event): Omit<Event, "kind"> {
  const { kind: _kind, ...facts } = event;
  return facts;
}

function told<Facts>(hook: keyof Hooks, run: Hook<Facts> | undefined, facts: Facts): readonly Call[] {
  return run === undefined ? [] : [{ hook, run: (over) => run(facts, over) }];
}
