export type { Client } from "./client.ts";
export type { Job, JobId, JobOf, OutputOf, ParamsOf, ReplyOf, ReplyTo } from "./job.ts";
