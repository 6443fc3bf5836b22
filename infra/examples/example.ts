import type { StackProps } from "aws-cdk-lib";
import type { SluiceProps } from "../sluice-props.ts";

/** An example is a stack with Sluice and one way in. */
export type ExampleProps = StackProps & SluiceProps;

/** What every example asks for. */
export const greeting = {
  model: "fast-text",
  op: "converse",
  params: { messages: [{ role: "user", content: [{ text: "Say hello to Ada." }] }] },
};
