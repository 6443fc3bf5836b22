import { parseJson, isObject } from "../../../lib/core/json.ts";
import type { Json, JsonObject } from "../../../lib/core/json.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import type { History } from "./history.ts";
import { momentsOf } from "./history.ts";
import type { Fate } from "./scenario.ts";

/** How a message ended: its job's status with the code of a failure, or the reason for which it was parked. */
export function fateOf(history: History, messageId: string): Fate | undefined {
  const parked = momentsOf(history, "parked").find((moment) => moment.messageId === messageId);
  if (parked !== undefined) return `parked: ${parked.reason}`;
  const { jobId } = history.messages.get(messageId) ?? {};
  const row = history.end.rows.find((one) => one.jobId === jobId);
  return row === undefined ? undefined : endOf(row);
}

export function isParked(history: History, messageId: string): boolean {
  return momentsOf(history, "parked").some((moment) => moment.messageId === messageId);
}

/** How a job ended. */
export function endOf(row: JobRow): Fate | undefined {
  const reply = replyOf(row);
  if (reply === undefined) return undefined;
  const code = isObject(reply.error) ? reply.error.code : undefined;
  return reply.status === "failed" && typeof code === "string" ? `failed: ${code}` : textOf(reply.status);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function replyOf({ reply }: JobRow): JsonObject | undefined {
  const value = reply === undefined ? undefined : parseJson(reply);
  return isObject(value) ? value : undefined;
}
