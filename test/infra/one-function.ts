/** The resources of one function of the template, and what it may do. */
import type { Template } from "./synth.ts";

/** The one resource of a type whose logical id begins like that, with it. */
export function of(built: Template, prefix: string, type: string) {
  const [found, ...more] = Object.entries(built.findResources(type)).filter(([id]) => id.startsWith(prefix));
  if (found === undefined || more.length > 0) throw new Error(`not one ${type} of ${prefix}`);
  return { id: found[0], properties: found[1]["Properties"] };
}

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

/** Everything that a policy allows, as `actions: where`. */
export function rightsOf(policy: ReturnType<typeof of>): readonly string[] {
  const statements: readonly Statement[] = policy.properties.PolicyDocument.Statement;
  return statements.map(({ Action, Resource }) => {
    const actions = [Action].flat().map((action) => action.split(":")[1]);
    return `${actions.join(" ")}: ${JSON.stringify(Resource).replaceAll(/[0-9A-F]{8}(?=")/g, "")}`;
  });
}
