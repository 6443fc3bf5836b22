/**
 * Texts of the code that no person meets as an error. `at`: the file, or the beginning of its path; `says`: a part of the
 * text, absent for all that is not provoked.
 */
export const internal: readonly { readonly at: string; readonly says?: string; readonly why: string }[] = [
  {
    at: "lib/aws/",
    why: "Thrown by an adapter, and caught by the worker: the log has the error's class, and the message comes again.",
  },
  {
    at: "lib/worker/lease-desk.ts",
    says: "an attempt wants no lease at all",
    why: "Every attempt wants the lease of its target; the type of the list cannot say so.",
  },
  {
    at: "lib/client/message.ts",
    says: "is an event about a job",
    why: "An envelope's reader answers nothing of the kind; it shares its answer's type with the reader of bodies.",
  },
  { at: "lib/call-now/call-now.ts", says: "is an event about a job", why: "The same." },
  { at: "lib/client/read-jobs.ts", says: "is no job, but an event about one", why: "The same." },
  { at: "", says: "unknown error", why: "What Node throws at a file has a code, in whatever file of ours." },
  {
    at: "lib/cli/jobs-file.ts",
    says: "cannot be read; check its rights",
    why: "It takes a file that whoever runs this may not read, and root may read all.",
  },
  {
    at: "lib/cli/read-config.ts",
    says: "the deployment's config is needed here",
    why: "A checkout has one; the package alone, in a directory without it, has none.",
  },
  { at: "lib/cli/parked.ts", says: "would be run again", why: "What --dry-run says of a message, which is no error." },
  { at: "lib/core/why-open.ts", why: "Why a job waits is no error." },
  { at: "lib/memory/bedrock-answer.ts", why: "What the stand-in for Bedrock answers." },
  { at: "lib/memory/models.ts", why: "Bedrock's own errors, as the stand-in has them." },
  { at: "lib/memory/clock.ts", why: "The virtual clock of tests." },
  {
    at: "lib/testing/index.ts",
    says: "nothing is left to happen",
    why: "A job that was sent ends, and a wait has its own end: it would be a bug of the test client.",
  },
  {
    at: "infra/local/engines.ts",
    says: "INVALID_MESSAGE_BODY_CHAR",
    why: "The engine's version is fixed; the contract of the queue fails with another that has no such pattern.",
  },
  { at: "infra/local/page/server.ts", says: "the page listens on no port", why: "It has just begun to listen." },
  {
    at: "infra/local/page/watch.ts",
    says: "that is no jobId",
    why: "An answer of the page to its own button, beside the row that it is about; so are the next three.",
  },
  { at: "infra/local/page/watch.ts", says: "no worker has seen a job", why: "The same." },
  { at: "infra/local/page/watch.ts", says: "that message is not among", why: "The same." },
  {
    at: "infra/local/page/watch.ts",
    says: "it cannot be run again",
    why: "The same, before the text of a RerunRefused.",
  },
  { at: "infra/alarms.ts", says: "no alarm", why: "Asked by the construct itself, for alarms that it has just made." },
  { at: "infra/metrics.ts", why: "Dashboard and alarms name metrics that the worker emits, or no template is made." },
  {
    at: "infra/local/bedrock/",
    why: "What the stand-in answers as Bedrock does, and what it needs of its own scripts.",
  },
  {
    at: "infra/local/engines.ts",
    why: "An engine that does not start: the machine's trouble, which nothing here can provoke.",
  },
  { at: "infra/local/event-source-rules.ts", why: "SQS gives every message its ids." },
  { at: "infra/local/schedule.ts", why: "The template is this repository's own, and so is the schedule in it." },
  { at: "infra/local/service.ts", says: "the template has no output", why: "The same." },
  { at: "infra/local/stack.ts", why: "The same." },
  { at: "infra/local/synth.ts", says: "the synthesized template is no object", why: "The same." },
  { at: "infra/local/template.ts", why: "The same." },
];
