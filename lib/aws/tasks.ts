import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  SFNClient,
} from "@aws-sdk/client-sfn";
import { taskEndOf } from "../core/announcement.ts";
import { errorName } from "../core/error-name.ts";
import { withTimeout } from "./clients.ts";
import type { Where } from "./clients.ts";

/** Ended already or timed out, or never a task: https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html */
const goneBy: ReadonlySet<string> = new Set(["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"]);

/** The tasks of Step Functions that wait by a token. */
export function createTasks(where: Where) {
  const client = new SFNClient({ ...where, ...withTimeout(3_000) });
  return {
    async end(taskToken: string, reply: string): Promise<"sent" | "gone"> {
      const end = taskEndOf(reply);
      switch (end.kind) {
        case "success": {
          const { output } = end;
          return unlessGone("sent", () => client.send(new SendTaskSuccessCommand({ taskToken, output })));
        }
        case "failure": {
          const { error, cause } = end;
          return unlessGone("sent", () => client.send(new SendTaskFailureCommand({ taskToken, error, cause })));
        }
      }
    },
    beat: (taskToken: string): Promise<"alive" | "gone"> =>
      unlessGone("alive", () => client.send(new SendTaskHeartbeatCommand({ taskToken }))),
  };
}

async function unlessGone<Heard>(heard: Heard, tell: () => Promise<unknown>): Promise<Heard | "gone"> {
  try {
    await tell();
    return heard;
  } catch (error) {
    if (goneBy.has(errorName(error))) return "gone";
    throw error;
  }
}
