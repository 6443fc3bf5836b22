import { workerHandler } from "../handlers/worker.ts";

export const handler = workerHandler({
  onReply: ({ jobId, status, totalMs }) => console.log(`${jobId} ${status} after ${totalMs} ms`),
});
