/** The class of an error: all of it that a log line, a metric or a reply may carry. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
