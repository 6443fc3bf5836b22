import { workerHandler } from "./handlers/worker.ts";

export const handler = workerHandler();
