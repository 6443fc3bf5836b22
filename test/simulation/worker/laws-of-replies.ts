import { claimGraceMs, crashesMax, heartbeatMs } from "../../../lib/core/limits.ts";
import { isHeldBy } from "../../../lib/core/claim.ts";
import type { Claim } from "../../../lib/core/claim.ts";
import { clientMsMax } from "./faults.ts";
import { endOf, fateOf, isParked, replyOf } from "./fate.ts";
import { jobIdOf, momentsOf } from "./history.ts";
import type { History, Message } from "./history.ts";
import { skewMsMax } from "./laws.ts";
import type { Found, Law } from "./laws.ts";
import type { Seen } from "./seen.ts";
import { answerMark, promptMark } from "./marks.ts";

const everyMessageEnds: Law = {
  law: "1",
  says: "every message that reached a worker ends in a final reply of its job, or parked",
  atEnd(history) {
    const found = [...history.messages].flatMap(([messageId, message]): Found[] => {
      if (fateOf(history, messageId) !== undefined || isGone(history, message)) return [];
      return [{ about: message.jobId ?? messageId, says: "its message has no end" }];
    });
    const { stuck, waiting } = history.end;
    if (stuck !== undefined) found.push({ about: `${waiting} messages`, says: stuck });
    return found;
  },
};

const repliesStay: Law = {
  law: "2",
  says: "a final reply is never changed, and never stored twice",
  at(moment) {
    if (moment.kind !== "row") return undefined;
    const { before, after } = moment;
    if (before?.reply === undefined || before.reply === after.reply) return undefined;
    return { about: after.jobId, says: "its reply was changed" };
  },
};

const deletesLast: Law = {
  law: "3",
  says: "no message is deleted before its reply is stored, safe in the replies queue, or the message parked",
  at(moment, { parked, posted, rows }, { messages }) {
    if (moment.kind !== "deleted" || parked.has(moment.messageId)) return undefined;
    const { isMoved, jobId, send } = messages.get(moment.messageId) ?? {};
    if (isMoved === true) return undefined;
    if (jobId !== undefined && rows.get(jobId)?.reply !== undefined) return undefined;
    // What the replies queue has is as safe, but for its own messages.
    if (jobId !== undefined && send !== undefined && posted.has(jobId)) return undefined;
    return { about: jobId ?? moment.messageId, says: "its message was deleted with nothing to show for it" };
  },
};

const boughtOnce: Law = {
  law: "7",
  says: "what is stored is never asked for again; what was received, only after its claim lapsed",
  at(moment, seen) {
    // As the code calls it: what a freeze does to a request on its way out is nobody's fault.
    if (moment.kind !== "called" || moment.call.name !== "models.ask") return undefined;
    const jobId = jobIdOf(moment.call.args);
    const { atMs } = moment;
    if (seen.rows.get(jobId)?.reply !== undefined && !isNews(jobId, atMs, seen))
      return { about: jobId, says: "was asked for though it is answered" };
    const { heldUntilMs = -Infinity, state } = seen.received.get(jobId) ?? {};
    // Whoever could put an answer nowhere gives the claim back, to be taken no sooner than it would have lapsed.
    const mayBeBack = state !== "queued" || seen.offered.has(jobId);
    const hasLapsed = mayBeBack && atMs >= heldUntilMs + claimGraceMs - skewMsMax;
    return hasLapsed ? undefined : { about: jobId, says: "was asked for again though its answer was received" };
  },
};

/** In another queue by now; or purged before its job was ever handed back, so that nobody knows of it. */
function isGone({ end }: History, { isMoved, isPurged, jobId }: Message): boolean {
  const row = end.rows.find((one) => one.jobId === jobId);
  return isMoved === true || (isPurged === true && (row?.givenBack ?? 0) === 0);
}

/** Out of the replies queue a reply may come after its job's claim: the holder learns of it by the next heartbeat. */
function isNews(jobId: string, atMs: number, { broughtAtMs, claimedAtMs }: Seen): boolean {
  const [broughtMs, claimedMs] = [broughtAtMs.get(jobId) ?? -Infinity, claimedAtMs.get(jobId) ?? Infinity];
  return claimedMs < broughtMs && atMs < broughtMs + heartbeatMs + clientMsMax("jobs.extend");
}

const theOneWhoWaitsIsTold: Law = {
  law: "§10",
  says: "whoever waits is told of the reply once it is stored, and of no other",
  at(moment, { rows }) {
    if (moment.kind !== "announced" || rows.get(moment.jobId)?.reply === moment.reply) return undefined;
    return { about: moment.jobId, says: "was announced by another reply than the stored one" };
  },
  atEnd(history) {
    const told = Map.groupBy(momentsOf(history, "announced"), ({ jobId, to }) => `${jobId} at ${to}`);
    const waiting = [...history.messages].flatMap(([messageId, message]) => {
      const { isPurged, jobId, send } = message;
      // A cancel tells nobody by itself: the message does, when it comes again.
      const isNobodys = isGone(history, message) || (isPurged === true && fateOf(history, messageId) === "cancelled");
      return send?.waits === undefined || isNobodys || isParked(history, messageId)
        ? []
        : [`${jobId} at ${send.waits}`];
    });
    return [...new Set(waiting)].flatMap((about): Found[] => {
      const times = told.get(about)?.length ?? 0;
      if (times === 0) return [{ about, says: "was never told" }];
      // Copies of a message may tell at the same time.
      const isAlone = waiting.filter((one) => one === about).length === 1 && history.faults.length === 0;
      return times > 1 && isAlone ? [{ about, says: `was told ${times} times` }] : [];
    });
  },
};

const ownersOnly: Law = {
  law: "8",
  says: "a stale owner changes nothing",
  at(moment) {
    if (moment.kind !== "row" || moment.before === undefined) return undefined;
    const { call, before } = moment;
    const about = before.jobId;
    if (call?.name === "jobs.claim") {
      const isHeld =
        before.state === "running" && (before.heldUntilMs ?? Infinity) > moment.atMs - claimGraceMs + skewMsMax;
      return isHeld ? { about, says: "was claimed from the one who held it" } : undefined;
    }
    const [claim] = call?.args ?? [];
    if (call === undefined || !isClaim(claim) || isHeldBy(before, claim)) return undefined;
    return { about, says: `was changed by ${call.name} of ${call.container}, who does not hold it` };
  },
};

const whatIsPostedCounts: Law = {
  law: "8",
  says: "an answer in the replies queue is stored if the job still has no reply",
  atEnd: (history) =>
    momentsOf(history, "posted")
      .filter(({ jobId }) => !history.end.rows.some((row) => row.jobId === jobId && row.reply !== undefined))
      .map(({ jobId }) => ({ about: jobId, says: "has an answer that was never stored" })),
};

const patienceIsNoFault: Law = {
  law: "9",
  says: "no healthy job is parked because it waited, and none has crashed that did not",
  atEnd(history) {
    const { end, messages } = history;
    const isGivenUp = history.scenario.receivesMax !== undefined;
    const dead = (isGivenUp ? [] : momentsOf(history, "dead-lettered")).map(({ messageId }) => ({
      about: messages.get(messageId)?.jobId ?? messageId,
      says: "was parked by SQS",
    }));
    const parked = momentsOf(history, "parked").flatMap(({ messageId, reason }): Found[] => {
      const { jobId = messageId, send } = messages.get(messageId) ?? {};
      return send?.fates.includes(`parked: ${reason}`) === true
        ? []
        : [{ about: jobId, says: `was parked: ${reason}` }];
    });
    const crashed = end.rows
      .filter((row) => endOf(row) === "failed: worker_crashed" && lapses(history, row.jobId) < crashesMax)
      .map(({ jobId }) => ({ about: jobId, says: "is said to have crashed more often than it can have" }));
    return [...dead, ...parked, ...crashed];
  },
};

/** What may have kept a delivery from giving its claim back. */
function lapses(history: History, jobId: string): number {
  if (history.scenario.poison === jobId) return Infinity;
  const deaths = momentsOf(history, "crashed").length + momentsOf(history, "froze").length;
  return deaths + history.faults.filter(({ call }) => call.startsWith("jobs.")).length;
}

const neighboursAreStrangers: Law = {
  law: "11",
  says: "a bad record never changes the fate of another",
  atEnd(history) {
    const { faults, messages, scenario } = history;
    const mayVary = faults.length > 0 || scenario.isWild === true;
    return [...messages].flatMap(([messageId, { isMoved, send }]): Found[] => {
      const fate = fateOf(history, messageId);
      if (isMoved === true || send === undefined || fate === undefined || fate === send.fates[0]) return [];
      const { fates, jobId = messageId, lane } = send;
      const isCancelled = momentsOf(history, "cancel").some((moment) => moment.jobId === jobId);
      // Whoever waits for an answer hears soon that there is none; trouble makes it so.
      const isExcused =
        fates.includes(fate) ||
        lane === "rt" ||
        (fate === "cancelled" && isCancelled) ||
        (fate === "failed: worker_crashed" && lapses(history, jobId) >= crashesMax);
      return mayVary && isExcused
        ? []
        : [{ about: jobId, says: `ended as ${fate}, and should as ${fates.join(" or ")}` }];
    });
  },
};

const outOfSight: Law = {
  law: "12",
  says: "payloads never appear in logs, metrics or errors",
  at(moment) {
    if (moment.kind !== "noted") return undefined;
    const { container, event } = moment;
    return isMarked(event) ? { about: container, says: `noted a payload with ${event.kind}` } : undefined;
  },
  atEnd: ({ end }) =>
    end.rows.flatMap((row) => {
      const error = replyOf(row)?.error;
      return isMarked(error) ? [{ about: row.jobId, says: "has a payload in its error" }] : [];
    }),
};

function isMarked(value: unknown): boolean {
  const text = JSON.stringify(value) ?? "";
  return text.includes(promptMark) || text.includes(answerMark);
}

function isClaim(value: unknown): value is Claim {
  return typeof value === "object" && value !== null && "holder" in value && "fence" in value && "jobId" in value;
}

export const lawsOfReplies: readonly Law[] = [
  everyMessageEnds,
  repliesStay,
  deletesLast,
  boughtOnce,
  theOneWhoWaitsIsTold,
  ownersOnly,
  whatIsPostedCounts,
  patienceIsNoFault,
  neighboursAreStrangers,
  outOfSight,
];
