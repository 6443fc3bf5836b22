export type { Cancelled } from "./cancel.ts";
export type { Client } from "./client.ts";
export type { Job, JobId, JobOf, OutputOf, ParamsOf, ReplyOf, ReplyTo } from "./job.ts";
export { readJobs } from "./read-jobs.ts";
export type { JobLine } from "./read-jobs.ts";
export { JobRefused } from "./submit.ts";
export type { Submitted } from "./submit.ts";
export type { Found, WaitOptions, Waited } from "./wait.ts";
