import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";

import { errorName } from "../core/error-name.ts";
import { Fault } from "../terminal/fault.ts";

/** The outputs of a stack. @throws Fault where there is no such stack; the SDK's error for all else. */
export async function readStack(name: string): Promise<Readonly<Record<string, string>>> {
  const cloudFormation = new CloudFormationClient({});
  try {
    const { Stacks = [] } = await cloudFormation.send(new DescribeStacksCommand({ StackName: name }));
    const outputs = Stacks[0]?.Outputs ?? [];
    return Object.fromEntries(outputs.map(({ OutputKey = "", OutputValue = "" }) => [OutputKey, OutputValue]));
  } catch (error) {
    if (errorName(error) === "ValidationError" && error instanceof Error && error.message.includes("does not exist")) {
      const region = await cloudFormation.config.region();
      throw new Fault(
        `there is no stack ${name} in ${region}; name the right one with --stack, or its region with --region, or use --local`,
      );
    }
    throw error;
  } finally {
    cloudFormation.destroy();
  }
}
