import { deliveryOf } from "../core/batch.ts";
import { laneLimits } from "../core/limits.ts";
import type { Worker } from "../worker/invocation.ts";
import { processBatch } from "../worker/process-batch.ts";
import type { MemoryQueue, ReceivedMessage } from "./queue.ts";

type Process = Parameters<typeof processBatch>[3];

/** What may be said of an invocation. */
export interface InvokeOptions {
  /** Epoch ms; its lane's function timeout from now, without it. */
  readonly endsAtMs?: number;
  readonly process?: Process;
}

/** What Lambda does with messages that it received: one invocation; whatever need not come again is deleted. */
export async function invoke(
  worker: Worker,
  queue: MemoryQueue,
  received: readonly ReceivedMessage[],
  { endsAtMs, process }: InvokeOptions = {},
): Promise<readonly string[]> {
  const nowMs = worker.world.clock.nowMs();
  const records = received.map((record) => deliveryOf(record, worker.lane, nowMs));
  const lastsMs = laneLimits[worker.lane].functionTimeoutMs;
  const again = new Set(await processBatch(worker, records, endsAtMs ?? nowMs + lastsMs, process));
  for (const { messageId, receiptHandle } of received) if (!again.has(messageId)) queue.delete(receiptHandle);
  return [...again];
}
