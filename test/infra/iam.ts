/** What IAM would say to a call of one function: its role's statements, with names where only CloudFormation knows them. */
import { of } from "./one-function.ts";
import type { Template } from "./synth.ts";

export const account = "123456789012";
export const region = "us-west-2";

export interface Call {
  readonly action: string;
  /** Its ARN; `*` where AWS knows no resource. */
  readonly resource: string;
  /** What the service tells IAM beside it, by condition key. */
  readonly context?: Readonly<Record<string, string>>;
}

/** One allowed action on one pattern of resources, under conditions. */
export interface Right {
  readonly action: string;
  readonly resource: string;
  readonly conditions: readonly Condition[];
}

interface Condition {
  readonly key: string;
  readonly patterns: readonly string[];
}

const pseudo: Readonly<Record<string, string>> = {
  "AWS::Partition": "aws",
  "AWS::Region": region,
  "AWS::AccountId": account,
  "AWS::URLSuffix": "amazonaws.com",
};

/** As AWS forms the `Arn` of a resource, named by its logical id. */
const arns: Readonly<Record<string, (name: string) => string>> = {
  "AWS::SQS::Queue": (name) => arnOf("sqs", name),
  "AWS::DynamoDB::Table": (name) => arnOf("dynamodb", `table/${name}`),
  "AWS::S3::Bucket": (name) => `arn:aws:s3:::${name}`,
  "AWS::Logs::LogGroup": (name) => arnOf("logs", `log-group:${name}:*`),
};

export function arnOf(service: string, resource: string, where = region): string {
  return `arn:aws:${service}:${where}:${account}:${resource}`;
}

/** All that the role of a function may do. Throws at whatever it cannot weigh: no right may be overlooked. */
export function rightsIn(built: Template, prefix: string): readonly Right[] {
  const [roleId] = of(built, `${prefix}Function`, "AWS::Lambda::Function").properties.Role["Fn::GetAtt"];
  const role = built.findResources("AWS::IAM::Role")[roleId]?.["Properties"];
  known(role, ["AssumeRolePolicyDocument"]);
  if (Object.keys(built.findResources("AWS::IAM::ManagedPolicy")).length > 0) throw new Error("a managed policy");
  const policies = Object.values(built.findResources("AWS::IAM::Policy")).map((policy) => policy["Properties"]);
  return policies
    .filter(({ Roles }) => JSON.stringify(Roles).includes(`"${roleId}"`))
    .flatMap(({ PolicyDocument }): readonly Readonly<Record<string, unknown>>[] => PolicyDocument.Statement)
    .flatMap((statement) => rightsBy(built, statement));
}

export function isAllowed(rights: readonly Right[], call: Call): boolean {
  return rights.some((right) => covers(right, call));
}

export function covers({ action, resource, conditions }: Right, call: Call): boolean {
  return (
    action === call.action &&
    matches(resource, call.resource) &&
    conditions.every(({ key, patterns }) => {
      const told = call.context?.[key];
      return told !== undefined && patterns.some((pattern) => matches(pattern, told));
    })
  );
}

function rightsBy(built: Template, statement: Readonly<Record<string, unknown>>): readonly Right[] {
  known(statement, ["Action", "Condition", "Effect", "Resource"]);
  if (statement["Effect"] !== "Allow") throw new Error("a statement that does not allow");
  const actions = [statement["Action"]].flat().map(String);
  // It would cover a call of the table, and whatever else begins like that.
  if (actions.some((action) => /[*?]/.test(action))) throw new Error(`a wildcard among ${actions.join(", ")}`);
  const conditions = Object.entries(statement["Condition"] ?? {}).flatMap(([operator, asked]) =>
    Object.entries(asked ?? {}).map(([key, value]) => conditionOf(built, operator, key, value)),
  );
  return actions.flatMap((action) =>
    [statement["Resource"]].flat().map((resource) => ({
      action,
      resource: textOf(built, resource),
      conditions,
    })),
  );
}

function conditionOf(built: Template, operator: string, key: string, value: unknown): Condition {
  if (operator !== "StringEquals" && operator !== "StringLike") throw new Error(`the operator ${operator}`);
  const patterns = [value].flat().map((each) => textOf(built, each));
  if (operator === "StringEquals" && patterns.some((each) => /[*?]/.test(each))) throw new Error("a literal wildcard");
  return { key, patterns };
}

/** A value of the template, as deployed. */
function textOf(built: Template, value: unknown): string {
  if (typeof value === "string") return value;
  const [[how, what] = [], ...more] = Object.entries(value ?? {});
  if (more.length === 0 && how === "Ref" && pseudo[what] !== undefined) return pseudo[what];
  if (more.length === 0 && how === "Fn::Join") {
    return what[1].map((each: unknown) => textOf(built, each)).join(what[0]);
  }
  if (more.length === 0 && how === "Fn::GetAtt" && what[1] === "Arn") {
    const type: string = built.toJSON()["Resources"][what[0]].Type;
    const arn = arns[type]?.(what[0].replace(/^Llm|[0-9A-F]{8}$/g, ""));
    if (arn !== undefined) return arn;
  }
  throw new Error(`no name for ${JSON.stringify(value)}`);
}

function known(found: unknown, keys: readonly string[]): void {
  const strange = Object.keys(found ?? { nothing: true }).filter((key) => !keys.includes(key));
  if (strange.length > 0) throw new Error(`cannot weigh ${strange.join(", ")}`);
}

/** `*` and `?` as IAM takes them. */
function matches(pattern: string, text: string): boolean {
  const literal = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${literal.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(text);
}
