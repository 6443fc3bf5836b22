/** Set beside the endpoints that `npm run variables` gives a shell: they are of the run that was asked, and end with it. */
export const ofAnotherRun = "SLUICE_OF_ANOTHER_RUN";

/** The environment in which somebody may have named endpoints for this run. */
export function endpointsGiven(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env[ofAnotherRun] === undefined ? env : {};
}
