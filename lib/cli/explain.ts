/** What went wrong, for the person at night: one line what, one line what to do. */
import { errorName } from "../core/error-name.ts";

export interface Explained {
  readonly kind: Trouble;
  readonly what: string;
  readonly remedy: string;
}

type Trouble =
  /** AWS does not know who asks. */
  | "credentials"
  | "clock"
  | "region"
  /** It knows, and says no. */
  | "denied"
  | "missing"
  | "unreachable"
  | "unwritten"
  | "throttled"
  | "other";

const textMax = 300;
const clock: Explained = {
  kind: "clock",
  what: "AWS refuses the signature: this machine's clock is wrong",
  remedy: "set the clock, and try again",
};
const unreachable =
  /ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EAI_AGAIN|ETIMEDOUT|TimeoutError/;
const whereElse = "check stack and region; npx sluice doctor says which";

/** The first line that applies wins. What a person asked for wrongly (a Fault) says its own remedy. */
export function explain(error: unknown): Explained {
  const name = errorName(error);
  const text = error instanceof Error ? error.message.replaceAll(/\s+/g, " ").slice(0, textMax) : "";
  if (/Credentials.*Error|NoCredentials/.test(name) || text.includes("Could not load credentials"))
    return {
      kind: "credentials",
      what: "no AWS credentials were found",
      remedy: "set AWS_PROFILE or --profile, after aws sso login if it is one of SSO",
    };
  if (/ExpiredToken|TokenRefresh|SSOToken/.test(name) || /token.*expired/i.test(text))
    return {
      kind: "credentials",
      what: "the AWS credentials have expired",
      remedy: "log in again (aws sso login), or renew the keys",
    };
  if (/UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature/.test(name)) {
    return /expired|not yet current|skew/i.test(text)
      ? clock
      : {
          kind: "credentials",
          what: "AWS does not know these credentials",
          remedy: "check AWS_PROFILE, the keys, and the account they are for",
        };
  }
  if (/RequestTimeTooSkewed|RequestExpired/.test(name)) return clock;
  if (/AccessDenied|NotAuthorized|Unauthorized/.test(name))
    return {
      kind: "denied",
      what: `not allowed: ${text}`,
      remedy: "have the right granted to whoever these credentials are",
    };
  if (/Region is missing/.test(text))
    return { kind: "region", what: "no region is known", remedy: "give --region, or set AWS_REGION" };
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return { kind: "missing", what: "a queue of the deployment is not there", remedy: whereElse };
  if (/ResourceNotFound|NoSuchBucket/.test(name))
    return { kind: "missing", what: "a table or bucket of the deployment is not there", remedy: whereElse };
  if (unreachable.test(`${name} ${codeOf(error)} ${text}`))
    return {
      kind: "unreachable",
      what: `nobody answers: ${text || name}`,
      remedy: "check the network, the region and --endpoint; a service on this machine may have to be started again",
    };
  if (/ENOSPC|EDQUOT|EFBIG|EROFS|\bEIO\b/.test(`${codeOf(error)} ${text}`))
    return {
      kind: "unwritten",
      what: `what this tells cannot be written: ${text}`,
      remedy: "make room, or write elsewhere; what was done stands",
    };
  if (
    /Throttl|ProvisionedThroughputExceeded|TooManyRequests|SlowDown|RequestLimitExceeded/.test(name) ||
    text.includes("rows unread")
  )
    return {
      kind: "throttled",
      what: `AWS throttles (${name === "Error" ? text : name})`,
      remedy: "wait a moment, and try again",
    };
  return {
    kind: "other",
    what: text === "" ? name : `${name}: ${text}`,
    remedy: "add --debug to see where, and look into the logs",
  };
}

/** Whether the same may go well in a moment: nobody answers, or AWS throttles or has trouble of its own. */
export function isPassing(error: unknown): boolean {
  const { kind } = explain(error);
  return kind === "unreachable" || kind === "throttled" || statusOf(error) >= 500;
}

/** Of an answer that the SDK made an error of; 0: there was none. */
function statusOf(error: unknown): number {
  if (!(error instanceof Error) || !("$metadata" in error)) return 0;
  const facts: unknown = error.$metadata;
  if (typeof facts !== "object" || facts === null || !("httpStatusCode" in facts)) return 0;
  return typeof facts.httpStatusCode === "number" ? facts.httpStatusCode : 0;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  // A connection that was tried by several addresses fails with one error for them all, which has no text.
  const inner = error instanceof AggregateError ? error.errors.map(codeOf).join(" ") : "";
  return `${"code" in error ? String(error.code) : ""} ${inner}`;
}
