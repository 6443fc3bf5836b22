import { createHash } from "node:crypto";

/** Names a text by its content, the same in every process: hex SHA-256. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
