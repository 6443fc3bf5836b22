import {
  alarmBreakerShutMs,
  alarmDurationPercent,
  alarmFailedJobsMin,
  alarmFailedOverMs,
  alarmFailedPercent,
  alarmJobAgeMs,
  alarmSweeperSilentMs,
  hiddenMessagesMax,
} from "../lib/core/limits.ts";
import { span } from "../lib/core/words.ts";

interface AlarmText {
  readonly when: string;
  /** What to do, for somebody who has just been woken. */
  readonly remedy: string;
}

const { rt, bg, bulk } = alarmJobAgeMs;

/** What each alarm says; the README's table is held to it. */
export const alarmTexts = {
  JobAge: {
    when: `jobs are older than ${span(rt)} in rt, ${span(bg)} in bg, ${span(bulk)} in bulk`,
    remedy:
      "Leases at their limits: raise them, or wait. Nothing in flight: look at the worker's errors and its mapping",
  },
  JobsFailed: {
    when: `more than ${alarmFailedPercent} % of a lane's jobs failed in ${span(alarmFailedOverMs)}, of ${alarmFailedJobsMin} at least`,
    remedy: "The codes, in Replies, say why; npx sluice job ID tells one job's story",
  },
  DeadlineMissed: {
    when: "a job's deadline passed before its reply",
    remedy: "As for JobAge; if that is quiet, the sender's deadline is too near for its lane",
  },
  BreakerOpen: {
    when: `a target's breaker is open for ${span(alarmBreakerShutMs)}`,
    remedy: "See Attempts for the target and AWS Health for its region; if it will last, npx sluice pause the target",
  },
  Parked: {
    when: "messages are parked",
    remedy: "npx sluice parked list names each reason; correct the sender, then parked rerun or parked delete",
  },
  DeadLetters: {
    when: "SQS gave messages up",
    remedy: "They are answered and parked; look for what kept workers from ending them, and run them again",
  },
  InFlight: {
    when: `more than ${hiddenMessagesMax} messages of a lane are in flight`,
    remedy: "SQS delivers none beyond 120000: let senders pause, and see what the jobs wait for",
  },
  BudgetSpent: {
    when: "a lane has spent its budget of the day: its jobs wait for midnight UTC, and those of rt are refused",
    remedy: "See Cost for what spent it. To go on: budgetUsd on the lane's row, or a larger dailyBudgetUsd",
  },
  LeasesLost: {
    when: "a worker lost a lease that it used",
    remedy: "It was frozen or DynamoDB slow: see Health; for that time a limit may have been exceeded",
  },
  RepliesViaOutbox: {
    when: "replies go by the replies queue, or wait in it",
    remedy: "The job table refused or was slow: see Health. Nothing to do once the replies queue is empty",
  },
  FunctionErrors: {
    when: "invocations failed",
    remedy: "Their messages come again; read the function's log for the error, and roll back if it came with a deploy",
  },
  UnexpectedErrors: {
    when: "records met a bug",
    remedy: "They come again; a claimed job ends with internal_error at the third. Roll back if it came with a deploy",
  },
  FunctionThrottles: {
    when: "Lambda refused invocations",
    remedy: "Raise the account's concurrency, or lower the limits of the config: refused messages count as received",
  },
  FunctionSlow: {
    when: `the slowest hundredth of invocations takes more than ${alarmDurationPercent} % of the timeout`,
    remedy: "Jobs are cut and begin again: see which target is slow. The sweeper: more is due than it has time for",
  },
  SweeperSilent: {
    when: `the sweeper has not run for ${span(alarmSweeperSilentMs)}`,
    remedy: "See that its schedule is enabled: until then jobs whose messages were lost get no reply",
  },
  DynamoThrottles: {
    when: "DynamoDB refused requests for minutes",
    remedy: "Tables grow by themselves within minutes; if not, see their maximum throughput and the account's quotas",
  },
} as const satisfies Readonly<Record<string, AlarmText>>;

export type AlarmName = keyof typeof alarmTexts;
