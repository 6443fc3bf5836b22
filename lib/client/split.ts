import { sqsBatchEntriesMax, sqsMessageBytesMax } from "../core/limits.ts";

/**
 * Chunks for SendMessageBatch: at most 10 entries and 1 MiB each, in order, none lost. An entry that is too big by
 * itself is a chunk by itself: SQS says what it thinks of it, and its neighbours are not harmed.
 */
export function split<T extends { readonly bytes: number }>(entries: readonly T[]): readonly (readonly T[])[] {
  const chunks: T[][] = [];
  let chunk: T[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (chunk.length === sqsBatchEntriesMax || bytes + entry.bytes > sqsMessageBytesMax) {
      if (chunk.length > 0) chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(entry);
    bytes += entry.bytes;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
