import { cancel } from "../../../lib/client/cancel.ts";
import { readUnstored } from "../../../lib/core/outbox.ts";
import { replyToText } from "../../../lib/core/reply-to.ts";
import { ledgersOf } from "../../../lib/core/ledgers.ts";
import { pageCount } from "../../../lib/core/lease.ts";
import type { Page, PageRef } from "../../../lib/core/lease.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import { parseJson } from "../../../lib/core/json.ts";
import type { Lane } from "../../../lib/core/lane.ts";
import { deadLettersVisibilityS, laneLimits, queueVisibilityS } from "../../../lib/core/limits.ts";
import { createDice } from "../../../lib/memory/clock.ts";
import type { VirtualClock } from "../../../lib/memory/clock.ts";
import { createMemoryQueue } from "../../../lib/memory/queue.ts";
import type { MemoryQueue, ReceivedMessage } from "../../../lib/memory/queue.ts";
import { createMemoryWorld } from "../../../lib/memory/world.ts";
import type { MemoryWorld } from "../../../lib/memory/world.ts";
import type { ModelRequest } from "../../../lib/ports.ts";
import { t0 } from "../../a.ts";
import { never } from "./container.ts";
import type { Container } from "./container.ts";
import { faultMs } from "./faults.ts";
import type { Fault, FaultKind } from "./faults.ts";
import { jobIdOf } from "./history.ts";
import type { Call, Message, Moment, MomentOf } from "./history.ts";
import type { Scenario } from "./scenario.ts";

type Unseen<M = Moment> = M extends Moment ? Omit<M, "atMs"> : never;

/** More calls than any run needs: something goes round in circles. */
const callsMax = 20_000;

/** What all containers share: the world in memory, the faults that wait for their calls, and the one who writes it all down. */
export class Stage {
  readonly scenario: Scenario;
  readonly world: MemoryWorld;
  readonly moments: Moment[] = [];
  readonly messages = new Map<string, Message>();
  /** Calls by boundary. */
  readonly counts = new Map<string, number>();
  readonly limits: ReadonlyMap<string, number>;
  stuck: string | undefined;
  /** Called when messages may have become visible. */
  onQueue: () => void = () => undefined;
  readonly #queues = new Map<Lane, MemoryQueue>();
  readonly #graves = new Map<Lane, MemoryQueue>();
  readonly #faults: ReadonlyMap<string, readonly FaultKind[]>;
  readonly #wireDice: () => number;
  readonly #rows = new Map<string, JobRow>();
  readonly #parked = new Map<MemoryQueue, number>();
  readonly #handles = new Map<string, string>();
  readonly #downUntilMs = new Map<string, number>();
  #announced = 0;
  readonly #open = new Map<Call, string>();
  readonly #mutant: { readonly receivesMax?: number };
  #calls = 0;
  #invocations = 0;

  constructor(scenario: Scenario, faults: readonly Fault[], seed: number, mutant: { readonly receivesMax?: number }) {
    this.#mutant = mutant;
    this.scenario = scenario;
    const [first] = scenario.sends;
    this.world = createMemoryWorld({
      startMs: startOf(scenario),
      lane: first?.lane ?? "bg",
      seed,
      script: scenario.script,
    });
    for (const [path, text] of Object.entries(scenario.objects ?? {})) this.world.objects.put("prompts", path, text);
    this.#wireDice = createDice(seed + 1);
    this.#faults = new Map(
      [...Map.groupBy(faults, ({ call, nth }) => `${call}#${nth}`)].map(([at, met]) => [
        at,
        met.map(({ kind }) => kind),
      ]),
    );
    this.limits = new Map(
      scenario.configs.flatMap((config) => [...ledgersOf(config)]).toSorted(([, a], [, b]) => a - b),
    );
  }

  get clock(): VirtualClock {
    return this.world.clock;
  }

  /** Every lane's queue; they share tables, Bedrock and objects. */
  queueOf(lane: Lane): MemoryQueue {
    const { receivesMax = this.scenario.receivesMax ?? laneLimits[lane].receivesMax } = this.#mutant;
    return this.#madeOnce(this.#queues, lane, { visibilityS: queueVisibilityS(lane), receivesMax });
  }

  /** A lane's dead-letter queue. */
  graveOf(lane: Lane): MemoryQueue {
    return this.#madeOnce(this.#graves, lane, { visibilityS: deadLettersVisibilityS });
  }

  /** What SQS does with a message that was received too often. */
  bury(lane: Lane, { messageId, body }: { readonly messageId: string; readonly body: string }): void {
    this.see({ kind: "dead-lettered", messageId });
    const buried = this.graveOf(lane).send(body);
    const message = this.messages.get(messageId) ?? {};
    this.messages.set(buried, message);
    this.messages.set(messageId, { ...message, isMoved: true });
    this.onQueue();
  }

  /** Deletes whatever was handed out before, wherever it is now. */
  purge(): void {
    for (const [messageId, handle] of this.#handles) {
      for (const queue of this.queues) queue.delete(handle);
      this.messages.set(messageId, { ...this.messages.get(messageId), isPurged: true });
    }
    this.onQueue();
  }

  /** What only the sweeper can bring to an end: lost jobs, and replies that somebody has not been told of. */
  get due(): number {
    return this.world.jobs.rows().filter(isDue).length;
  }

  get queues(): readonly MemoryQueue[] {
    return [...this.#queues.values(), ...this.#graves.values(), this.world.outbox.queue];
  }

  see(moment: Unseen): void {
    this.moments.push({ atMs: this.clock.nowMs(), ...moment });
  }

  send(index: number): void {
    const sent = this.scenario.sends[index];
    if (sent === undefined) return;
    const messageId = this.queueOf(sent.lane).send(sent.body);
    this.messages.set(messageId, { send: sent, ...(sent.jobId !== undefined && { jobId: sent.jobId }) });
    this.see({ kind: "sent", messageId });
    this.onQueue();
  }

  received({ messageId, receiptHandle, body }: ReceivedMessage, { name }: Container): void {
    this.#handles.set(messageId, receiptHandle);
    if (!this.messages.has(messageId)) this.messages.set(messageId, postedIn(body));
    this.see({ kind: "received", messageId, container: name });
  }

  async cancel(jobId: string): Promise<void> {
    this.see({ kind: "cancel", jobId });
    await cancel(jobId, this.world.jobs, this.clock, 7);
    this.#seeRows();
  }

  called(name: string, args: readonly unknown[], container: Container): Call {
    const nth = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, nth);
    const met = this.#faults.get(`${name}#${nth}`) ?? [];
    const call: Call = {
      id: ++this.#calls,
      name,
      nth,
      container: container.name,
      args,
      atMs: this.clock.nowMs(),
      met,
    };
    if (this.#calls > callsMax) this.stuck = `${callsMax} calls, and no end`;
    this.#open.set(call, container.name);
    this.see({ kind: "called", call });
    this.#outside(call);
    return call;
  }

  ended(call: Call, heard: boolean, answer: unknown): void {
    this.#open.delete(call);
    this.see({ kind: "ended", call, heard, answer });
  }

  /** Calls of a container that it has made since then, and that have not come back. */
  underWay({ name }: Container, sinceMs: number): readonly string[] {
    return [...this.#open].flatMap(([call, container]) =>
      container === name && call.atMs >= sinceMs ? [call.name] : [],
    );
  }

  nextInvocation(): number {
    return ++this.#invocations;
  }

  crash(container: Container, why: MomentOf<"crashed">["why"] = "fault"): Promise<never> {
    if (!container.isDead) this.see({ kind: "crashed", container: container.name, why });
    container.crash();
    return never;
  }

  freeze(container: Container): void {
    container.freeze(faultMs.freeze);
    this.see({ kind: "froze", container: container.name, untilMs: container.frozenUntilMs });
  }

  /** A port that is down is so for everybody. */
  isDown({ name, met }: Call): boolean {
    const [port = ""] = name.split(".");
    if (met.includes("down")) this.#downUntilMs.set(port, this.clock.nowMs() + faultMs.down);
    return this.clock.nowMs() < (this.#downUntilMs.get(port) ?? 0);
  }

  /** One way over the wire. */
  async wire(ms = 0): Promise<void> {
    await this.clock.sleep(ms + 0.5 + 3 * this.#wireDice());
  }

  /** Rejects with the signal's reason as soon as it fires. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === Infinity)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    else await this.clock.sleep(ms, signal);
    signal.throwIfAborted();
  }

  later(ms: number, act: () => Promise<unknown>): void {
    this.clock.after(ms, () => void act().catch(() => undefined));
  }

  /** The service does what a request asks for, and whatever changed by it is seen. */
  async apply(call: Call, act: () => Promise<unknown>): Promise<unknown> {
    const [ref] = call.args;
    const before = isPageRef(ref) ? await this.#pageAt(ref) : {};
    const answer = await act();
    this.#seeRows(call);
    this.#seeParked();
    this.#seeAnnounced();
    if (call.name === "outbox.send") this.see({ kind: "posted", jobId: "", ...postedIn(call.args[0]) });
    if (isPageRef(ref)) {
      const after = await this.#pageAt(ref);
      const { ledger } = ref;
      this.see({ kind: "page", call, ledger, before, after, out: await this.leasesOf(ledger) });
    }
    if (/^(queue|outbox)\./.test(call.name)) this.onQueue();
    return answer;
  }

  async asked(call: Call, { jobId = "", step }: ModelRequest, container: Container): Promise<void> {
    this.see({ kind: "asked", call, jobId, step: step.name, live: await this.leasesOf(step.name) });
    if (jobId === this.scenario.poison) this.clock.after(50, () => void this.crash(container, "poison"));
  }

  left(call: Call, outcome: string): void {
    this.see({ kind: "left", call, outcome });
  }

  /** All leases of a ledger. */
  async leasesOf(ledger: string): Promise<Page> {
    const pages = pageCount(this.limits.get(ledger) ?? 1);
    const all = Array.from({ length: pages }, (_, page) => this.#pageAt({ ledger, page }));
    return Object.fromEntries((await Promise.all(all)).flatMap((page) => Object.entries(page)));
  }

  async #pageAt(ref: PageRef): Promise<Page> {
    return (await this.world.leases.readPage(ref)) ?? {};
  }

  /** What happens at the moment of a call, and not to it. */
  #outside({ met, args }: Call): void {
    const jobId = jobIdOf(args) || this.scenario.sends[0]?.jobId;
    if (met.includes("early")) this.#showAll();
    if (met.includes("copy"))
      this.send(
        Math.max(
          0,
          this.scenario.sends.findIndex((send) => send.jobId === jobId),
        ),
      );
    if (met.includes("cancel") && jobId !== undefined) void this.cancel(jobId);
  }

  /** SQS forgets that it has handed anything out. */
  #showAll(): void {
    const entries = [...this.#handles].map(([messageId, receiptHandle]) => ({ messageId, receiptHandle, seconds: 0 }));
    void Promise.all(this.queues.map((queue) => queue.hide(entries))).then(() => this.onQueue());
  }

  #madeOnce(
    made: Map<Lane, MemoryQueue>,
    lane: Lane,
    settings: { readonly visibilityS: number; readonly receivesMax?: number },
  ): MemoryQueue {
    // SQS's times are whole ms.
    const whole = { ...this.clock, nowMs: () => Math.floor(this.clock.nowMs()) };
    const queue = made.get(lane) ?? createMemoryQueue(whole, settings);
    made.set(lane, queue);
    return queue;
  }

  #seeRows(call?: Call): void {
    for (const after of this.world.jobs.rows()) {
      const before = this.#rows.get(after.jobId);
      if (before === after) continue;
      this.#rows.set(after.jobId, after);
      this.see({ kind: "row", ...(call && { call }), before, after });
    }
  }

  #seeParked(): void {
    for (const queue of this.queues) {
      for (const { messageId, reason } of queue.parked.slice(this.#parked.get(queue) ?? 0))
        this.see({ kind: "parked", messageId, reason });
      this.#parked.set(queue, queue.parked.length);
    }
  }

  #seeAnnounced(): void {
    const { sent } = this.world.announcer;
    for (const { to, reply } of sent.slice(this.#announced))
      this.see({ kind: "announced", jobId: jobIdOf([parseJson(reply)]), to: replyToText(to), reply });
    this.#announced = sent.length;
  }
}

export function startOf({ startMs = t0 }: Scenario): number {
  return startMs;
}

/** Whose reply a message of the replies queue holds. */
function postedIn(body: unknown): Message {
  const read = typeof body === "string" ? readUnstored(body) : undefined;
  return read?.kind === "reply" ? { jobId: read.unstored.jobId } : {};
}

function isPageRef(value: unknown): value is PageRef {
  return typeof value === "object" && value !== null && "ledger" in value && "page" in value;
}

function isDue({ reply, sweepAtMs, unannounced }: JobRow): boolean {
  return reply === undefined ? sweepAtMs !== undefined : unannounced.length > 0;
}
