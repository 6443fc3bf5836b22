import { readUnstored } from "../../../lib/core/outbox.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import { jobIdOf } from "./history.ts";
import type { Call, History, Moment, MomentOf } from "./history.ts";

/** A lease that a container's code knows of and has not sent back. */
export interface InHand {
  readonly ledger: string;
  readonly expiresAtMs: number;
  /** When its taker heard of it; absent while the answer is on its way. */
  readonly knownAtMs?: number;
}

/** What is known of a container at a moment. */
export interface SeenContainer {
  /** Calls that have not come back, and since when there are none. */
  readonly open: Set<Call>;
  idleSinceMs: number;
  frozenUntilMs: number;
  readonly inHand: Map<string, InHand>;
  invocation?: MomentOf<"began">;
}

/** How things stood when a moment came: the sum of all moments before it. */
export class Seen {
  readonly rows = new Map<string, JobRow>();
  readonly parked = new Set<string>();
  /** Jobs whose reply the replies queue has, or has had. */
  readonly posted = new Set<string>();
  /** Jobs whose reply somebody tried to put there, whatever came of it. */
  readonly offered = new Set<string>();
  /** By job: its claim when its answer was received, and what has become of it. */
  readonly received = new Map<string, JobRow>();
  /** By job: when it was last claimed, and when its reply came out of the replies queue. */
  readonly claimedAtMs = new Map<string, number>();
  readonly broughtAtMs = new Map<string, number>();
  readonly askedNow = new Set<MomentOf<"asked">>();
  readonly #containers = new Map<string, SeenContainer>();

  container(name: string): SeenContainer {
    const known = this.#containers.get(name);
    if (known !== undefined) return known;
    const fresh = { open: new Set<Call>(), idleSinceMs: 0, frozenUntilMs: 0, inHand: new Map<string, InHand>() };
    this.#containers.set(name, fresh);
    return fresh;
  }

  /** Whether a container has stood still at any time since then. */
  hasFrozenSince(name: string, sinceMs: number): boolean {
    return this.container(name).frozenUntilMs > sinceMs;
  }

  add(moment: Moment): void {
    switch (moment.kind) {
      case "called":
        this.container(moment.call.container).open.add(moment.call);
        this.#offer(moment.call);
        return this.#sendBack(moment.call);
      case "ended": {
        const container = this.container(moment.call.container);
        container.open.delete(moment.call);
        container.idleSinceMs = moment.atMs;
        if (takes.has(moment.call.name)) hear(container, moment);
        return this.#receive(moment);
      }
      case "row":
        this.rows.set(moment.after.jobId, moment.after);
        if (moment.call?.name === "jobs.claim") this.claimedAtMs.set(moment.after.jobId, moment.atMs);
        if (moment.call?.name === "jobs.storeReply") this.broughtAtMs.set(moment.after.jobId, moment.atMs);
        if (this.received.get(moment.after.jobId)?.fence === moment.after.fence)
          this.received.set(moment.after.jobId, moment.after);
        return;
      case "page":
        return this.#take(moment);
      case "parked":
        this.parked.add(moment.messageId);
        return;
      case "posted":
        this.posted.add(moment.jobId);
        return;
      case "asked":
        this.askedNow.add(moment);
        return;
      case "left":
        for (const asked of this.askedNow) if (asked.call === moment.call) this.askedNow.delete(asked);
        return;
      case "crashed":
        this.#containers.delete(moment.container);
        return;
      case "froze":
        this.container(moment.container).frozenUntilMs = moment.untilMs;
        return;
      case "began":
        this.container(moment.container).invocation = moment;
        this.container(moment.container).idleSinceMs = moment.atMs;
        return;
      case "returned":
        delete this.container(moment.container).invocation;
        return;
      case "sent":
      case "received":
      case "deleted":
      case "dead-lettered":
      case "cancel":
      case "announced":
      case "noted":
    }
  }

  #receive({ answer, call, heard }: MomentOf<"ended">): void {
    if (call.name !== "models.ask" || !heard || !isAnswer(answer)) return;
    const row = this.rows.get(jobIdOf(call.args));
    // Thawed too late, it has an answer to a job that another holds by now.
    if (row?.state === "running" && row.worker === call.container) this.received.set(row.jobId, row);
  }

  #offer({ name, args: [message] }: Call): void {
    if (name !== "outbox.send" || typeof message !== "string") return;
    const read = readUnstored(message);
    if (read.kind === "reply") this.offered.add(read.unstored.jobId);
  }

  /** Whoever sends a lease back holds it no more, whether or not the table hears of it. */
  #sendBack({ name, args: [, ids], container }: Call): void {
    if (name !== "leases.giveBack" || !Array.isArray(ids)) return;
    for (const id of ids) this.container(container).inHand.delete(String(id));
  }

  /** What a copy takes after its call has come back is in nobody's hand. */
  #take({ call, ledger, after }: MomentOf<"page">): void {
    const { open, inHand } = this.container(call.container);
    if (!open.has(call)) return;
    const ids = new Set(idsIn(call));
    for (const [id, expiresAtMs] of Object.entries(after))
      if (inHand.has(id) || (takes.has(call.name) && ids.has(id)))
        inHand.set(id, { ...inHand.get(id), ledger, expiresAtMs });
  }
}

const takes = new Set(["leases.take", "leases.reclaim"]);

/** What no answer tells of is in nobody's hand: it is taken again, or undone. */
function hear({ inHand }: SeenContainer, { atMs: knownAtMs, call, heard }: MomentOf<"ended">): void {
  for (const id of idsIn(call)) {
    const lease = inHand.get(id);
    if (lease === undefined || lease.knownAtMs !== undefined) continue;
    if (heard) inHand.set(id, { ...lease, knownAtMs });
    else inHand.delete(id);
  }
}

function idsIn({ args }: Call): readonly string[] {
  return args.flatMap((arg) => (Array.isArray(arg) ? arg.map(String) : []));
}

/** Every moment with what was before it. */
export function* replay({ moments }: History): Generator<readonly [Moment, Seen]> {
  const seen = new Seen();
  for (const moment of moments) {
    yield [moment, seen];
    seen.add(moment);
  }
}

function isAnswer(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "answered";
}
