import type { Clock } from "../ports.ts";

/** Waits for the promise, but no longer than `ms`; its timer never outlives the wait. The promise itself goes on. */
export async function atMost<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | "late"> {
  const over = new AbortController();
  const late = clock.sleep(Math.max(0, ms), over.signal).then((): "late" => "late");
  try {
    return await Promise.race([promise, late]);
  } finally {
    over.abort();
  }
}
