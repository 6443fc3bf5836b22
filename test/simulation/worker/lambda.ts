import type { MemoryQueue, ReceivedMessage } from "../../../lib/memory/queue.ts";
import { Container } from "./container.ts";
import type { Stage } from "./stage.ts";

/** What one invocation does; answers the messages that must come again. */
export type Handler = (received: readonly ReceivedMessage[], endsAtMs: number) => Promise<readonly string[]>;

/** A Lambda function and the queue that feeds it. */
export interface FunctionOf {
  readonly name: string;
  readonly queue: MemoryQueue;
  readonly batchSize: number;
  readonly timeoutMs: number;
  /** Invocations at once. */
  readonly concurrency: number;
  /** The queue has given a message up. */
  readonly onDeadLetter?: (message: { readonly messageId: string; readonly body: string }) => void;
  /** A cold start. `version`: of the versions at work; a sandbox that dies is followed by one of its own. */
  open(container: Container, version: number): Handler;
}

interface Sandbox {
  readonly container: Container;
  readonly version: number;
  readonly handle: Handler;
}

type Ended =
  | { readonly kind: "returned"; readonly again: readonly string[] }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "killed" };

/** An event source mapping and its function: as many sandboxes as it needs, each with one invocation at a time. */
export class Lambda {
  readonly #function: FunctionOf;
  readonly #stage: Stage;
  readonly #skewMs: number;
  readonly #idle: Sandbox[] = [];
  readonly #versions: number[];
  #made = 0;
  #busy = 0;
  #isLooking = false;
  #cancelLook: () => void = () => undefined;
  #deadLetters = 0;

  constructor(of: FunctionOf, stage: Stage, skewMs: number) {
    this.#function = of;
    this.#stage = stage;
    this.#skewMs = skewMs;
    this.#versions = Array.from({ length: of.concurrency }, (_, version) => version);
  }

  get isQuiet(): boolean {
    const { visible, hidden } = this.#function.queue.depth();
    return this.#busy === 0 && visible + hidden === 0;
  }

  /** In a moment, so that what is sent together comes together. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#stage.clock.after(1, () => {
      this.#isLooking = false;
      this.#lookNow();
    });
  }

  #lookNow(): void {
    const { batchSize, concurrency, queue } = this.#function;
    const { clock } = this.#stage;
    this.#cancelLook();
    while (this.#busy < concurrency) {
      const received = queue.receive(batchSize);
      this.#seeDeadLetters();
      if (received.length === 0) break;
      void this.#invoke(received);
    }
    const nextMs = queue.nextVisibleAtMs();
    if (nextMs !== undefined) this.#cancelLook = clock.after(nextMs - clock.nowMs(), () => this.look());
  }

  async #invoke(received: readonly ReceivedMessage[]): Promise<void> {
    const stage = this.#stage;
    this.#busy += 1;
    const sandbox = this.#sandbox();
    const { container } = sandbox;
    const [about, { timeoutMs }] = [{ container: container.name, invocation: stage.nextInvocation() }, this.#function];
    for (const message of received) stage.received(message, container);
    const beganAtMs = stage.clock.nowMs();
    stage.see({ kind: "began", ...about, endsAtMs: beganAtMs + timeoutMs });

    const ended = await this.#run(sandbox, received);
    if (ended.kind !== "killed") {
      const timers = Array.from({ length: container.timersSince(beganAtMs) }, () => "a timer");
      const left = [...stage.underWay(container, beganAtMs), ...timers];
      stage.see({ kind: "returned", ...about, left, ...(ended.kind === "threw" && { threw: ended.error }) });
    }
    if (ended.kind === "returned") this.#delete(received, new Set(ended.again));
    this.#idle.push(sandbox);
    this.#busy -= 1;
    this.look();
  }

  /** Until the handler answers, or its sandbox dies; Lambda kills it at the end of its time. */
  async #run({ container, handle }: Sandbox, received: readonly ReceivedMessage[]): Promise<Ended> {
    const { timeoutMs } = this.#function;
    const { promise: killed, resolve } = Promise.withResolvers<Ended>();
    const onDeath = () => resolve({ kind: "killed" });
    container.death.addEventListener("abort", onDeath);
    const cancelKill = this.#stage.clock.after(timeoutMs, () => void this.#stage.crash(container, "timeout"));
    const handled = handle(received, container.clock.nowMs() + timeoutMs).then(
      (again): Ended => ({ kind: "returned", again }),
      (error: unknown): Ended => ({ kind: "threw", error }),
    );
    const ended = await Promise.race([killed, handled]);
    cancelKill();
    container.death.removeEventListener("abort", onDeath);
    return ended;
  }

  #delete(received: readonly ReceivedMessage[], again: ReadonlySet<string>): void {
    for (const { messageId, receiptHandle } of received) {
      if (again.has(messageId)) continue;
      this.#function.queue.delete(receiptHandle);
      this.#stage.see({ kind: "deleted", messageId });
    }
  }

  /** A new one while there are fewer than may be at work, else the one that has been idle longest. */
  #sandbox(): Sandbox {
    for (const sandbox of this.#idle.splice(0)) {
      if (sandbox.container.isDead) this.#versions.push(sandbox.version);
      else this.#idle.push(sandbox);
    }
    return (this.#versions.length > 0 ? undefined : this.#idle.shift()) ?? this.#open();
  }

  #open(): Sandbox {
    const version = this.#versions.shift() ?? 0;
    const number = ++this.#made;
    const skewMs = [0, this.#skewMs, -this.#skewMs][number % 3] ?? 0;
    const container = new Container(`${this.#function.name}-${number}`, this.#stage.clock, skewMs);
    return { container, version, handle: this.#function.open(container, version) };
  }

  #seeDeadLetters(): void {
    const { queue } = this.#function;
    const seen = queue.deadLetters.slice(this.#deadLetters);
    this.#deadLetters = queue.deadLetters.length;
    for (const message of seen) this.#function.onDeadLetter?.(message);
  }
}
