import { RemovalPolicy, Stack } from "aws-cdk-lib";
import type { StackProps } from "aws-cdk-lib";
import { Table } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { ConfigError } from "../lib/config.ts";
import { addOutputs } from "./outputs.ts";
import { Sluice } from "./sluice.ts";
import type { SluiceProps } from "./sluice-props.ts";

/**
 * The service as an app of its own. With the context `removable=true` everything goes with the stack: for tests. With
 * `rollout=none` new versions take over at once. `jobTable` and `leaseTable` name tables that take the place of ours, restored
 * ones for instance.
 */
export class ServiceStack extends Stack {
  readonly sluice: Sluice;

  constructor(scope: Construct, id: string, props: StackProps & Omit<SluiceProps, "removalPolicy">) {
    super(scope, id, props);
    const policies = { true: RemovalPolicy.DESTROY, false: RemovalPolicy.RETAIN };
    const rollout = this.chosen("rollout", { none: false } as const);
    this.sluice = new Sluice(this, "Llm", {
      ...props,
      tables: { ...props.tables, ...this.tableNamed("jobs", "jobTable"), ...this.tableNamed("leases", "leaseTable") },
      ...(rollout === undefined ? {} : { rollout }),
      removalPolicy: this.chosen("removable", policies) ?? RemovalPolicy.RETAIN,
    });

    addOutputs(this.sluice);
  }

  /** What the word of a context stands for. A misspelt one must not do quietly what nobody asked for. */
  private chosen<Meaning>(context: string, meanings: Readonly<Record<string, Meaning>>): Meaning | undefined {
    const said: unknown = this.node.tryGetContext(context);
    if (said === undefined) return undefined;
    const word = typeof said === "string" ? said : JSON.stringify(said);
    if (Object.hasOwn(meanings, word)) return meanings[word];
    const known = Object.keys(meanings).join(" or ");
    throw new ConfigError(`Sluice: the context ${context} is ${word}; give ${known}, or leave it out`);
  }

  private tableNamed(what: keyof NonNullable<SluiceProps["tables"]>, context: string): SluiceProps["tables"] {
    const name: unknown = this.node.tryGetContext(context);
    return typeof name === "string" ? { [what]: Table.fromTableName(this, context, name) } : {};
  }
}
