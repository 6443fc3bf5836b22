/** What went wrong, for the person at night: one line what, one line what to do. */
import { errorName } from "../core/error-name.ts";

export interface Explained {
  readonly what: string;
  readonly remedy: string;
}

const textMax = 300;

/** The first line that applies wins. What a person asked for wrongly (a Fault) says its own remedy. */
export function explain(error: unknown): Explained {
  const name = errorName(error);
  const text = error instanceof Error ? error.message.replaceAll(/\s+/g, " ").slice(0, textMax) : "";
  if (/Credentials.*Error|NoCredentials/.test(name) || text.includes("Could not load credentials"))
    return {
      what: "no AWS credentials were found",
      remedy: "set AWS_PROFILE or --profile, after aws sso login if it is one of SSO",
    };
  if (/ExpiredToken|TokenRefresh|SSOToken/.test(name) || /token.*expired/i.test(text))
    return { what: "the AWS credentials have expired", remedy: "log in again (aws sso login), or renew the keys" };
  if (/UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature/.test(name)) {
    return /expired|not yet current|skew/i.test(text)
      ? { what: "AWS refuses the signature: this machine's clock is wrong", remedy: "set the clock, and try again" }
      : {
          what: "AWS does not know these credentials",
          remedy: "check AWS_PROFILE, the keys, and the account they are for",
        };
  }
  if (/RequestTimeTooSkewed|RequestExpired/.test(name))
    return { what: "AWS refuses the signature: this machine's clock is wrong", remedy: "set the clock, and try again" };
  if (/AccessDenied|NotAuthorized|Unauthorized/.test(name))
    return { what: `not allowed: ${text}`, remedy: "have the right granted to whoever these credentials are" };
  if (/Region is missing/.test(text)) return { what: "no region is known", remedy: "give --region, or set AWS_REGION" };
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return {
      what: "a queue of the deployment is not there",
      remedy: "check stack and region; npx sluice doctor says which",
    };
  if (/ResourceNotFound|NoSuchBucket/.test(name))
    return {
      what: "a table or bucket of the deployment is not there",
      remedy: "check stack and region; npx sluice doctor says which",
    };
  if (/ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|ETIMEDOUT|TimeoutError/.test(`${name} ${codeOf(error)} ${text}`))
    return {
      what: `nobody answers: ${text || name}`,
      remedy: "check the network, the region and --endpoint; a service on this machine may have to be started again",
    };
  if (/ENOSPC|EDQUOT|EFBIG|EROFS|\bEIO\b/.test(`${codeOf(error)} ${text}`))
    return {
      what: `what this tells cannot be written: ${text}`,
      remedy: "make room, or write elsewhere; what was done stands",
    };
  if (/Throttl|ProvisionedThroughputExceeded|TooManyRequests|SlowDown|RequestLimitExceeded/.test(name))
    return { what: `AWS throttles (${name})`, remedy: "wait a moment, and try again" };
  return { what: text === "" ? name : `${name}: ${text}`, remedy: "add --debug to see where, and look into the logs" };
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  // A connection that was tried by several addresses fails with one error for them all, which has no text.
  const inner = error instanceof AggregateError ? error.errors.map(codeOf).join(" ") : "";
  return `${"code" in error ? String(error.code) : ""} ${inner}`;
}
