import { explain } from "./explain.ts";

/** What the doctor found. */
export type Finding = { readonly check: string; readonly says: string } & (
  | { readonly kind: "ok" }
  | { readonly kind: "problem"; readonly remedy: string }
  /** Nobody knows; `says` has why. */
  | { readonly kind: "unknown" }
);

export function ok(check: string, says: string): Finding {
  return { check, kind: "ok", says };
}

export function problem(check: string, says: string, remedy: string): Finding {
  return { check, kind: "problem", says, remedy };
}

export function unknown(check: string, says: string): Finding {
  return { check, kind: "unknown", says };
}

/** The problems, or that there is none. */
export function problemsOr(check: string, says: string, problems: readonly Finding[]): readonly Finding[] {
  return problems.length > 0 ? problems : [ok(check, says)];
}

/** A check; one that cannot be made harms no other. What is missing altogether is `absent`'s to say. */
export async function checked(
  check: string,
  look: () => Promise<readonly Finding[]>,
  absent?: { readonly says: string; readonly remedy: string },
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    if (isMissingPackage(error))
      return [
        unknown(check, "its AWS client is not installed; npm install does it, if not told to omit optional packages"),
      ];
    if (absent !== undefined && /NotFound|NonExistentQueue|QueueDoesNotExist/.test(name))
      return [problem(check, absent.says, absent.remedy)];
    const { what, remedy } = explain(error);
    // Whoever is not known, or late, is told so once, by the first check.
    return [unknown(check, `${what}; ${remedy}`)];
  }
}

function isMissingPackage(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
