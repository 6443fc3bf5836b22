/**
 * Names that come from the stack's outputs, mostly by variables that somebody must have set.
 * @throws TypeError for the first that is missing.
 */
export function needNames(
  ...names: readonly (readonly [option: string, value: string | undefined, output: string])[]
): void {
  for (const [option, value, output] of names)
    if (value === undefined || value === "")
      throw new TypeError(`${option} is missing; give it the stack's output ${output}`);
}
