/**
 * Each is given a signal that fires when `signal` does, or when another has failed: nothing goes on behind an error that
 * is told. Resolves, or throws the first error, once all have ended.
 */
export async function sideBySide(
  signal: AbortSignal,
  works: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  await Promise.all(
    works.map(async (work) => {
      try {
        await work(either);
      } catch (error) {
        failed.abort(error);
      }
    }),
  );
  failed.signal.throwIfAborted();
}
