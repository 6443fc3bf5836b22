/** An error as a person meets it: when, the code that says it, and what to do where the message does not say that itself. */
export type Entry = readonly [when: string, message: () => string | Promise<string>, remedy?: string];

/** Errors that are met in one place. */
export interface Group {
  readonly title: string;
  /** Where, in what form, and what they have in common. */
  readonly about: string;
  readonly entries: readonly Entry[];
}

/** The message of what an act throws. */
export async function thrownBy(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}
