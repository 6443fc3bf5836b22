import { exitCodes } from "./run.ts";

/** The first Ctrl-C ends a command in order, the second at once. */
export function interruption(): { readonly signal: AbortSignal; readonly release: () => void } {
  const asked = new AbortController();
  const interrupt = () => {
    if (asked.signal.aborted) process.exit(exitCodes.interrupted);
    asked.abort();
  };
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  return {
    signal: asked.signal,
    release: () => void process.off("SIGINT", interrupt).off("SIGTERM", interrupt),
  };
}
