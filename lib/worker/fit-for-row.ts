import type { Config } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import type { JsonObject } from "../core/json.ts";
import type { Tags } from "../core/noted.ts";
import { replyText } from "../core/reply.ts";
import type { World } from "../ports.ts";

/** Stores an output and answers its reference. */
type Put = (output: string) => Promise<string>;

/** A big output goes to S3 before the row is written; with S3 down it stays inline, while the row takes it. */
export async function fitForRow(
  { config, world }: { readonly config: Config; readonly world: Pick<World, "telemetry"> },
  reply: string,
  put: Put,
  tags: Tags,
): Promise<string> {
  if (Buffer.byteLength(reply) <= config.replies.inlineBytesMax) return reply;
  try {
    return await outputApart(reply, put);
  } catch (error) {
    world.telemetry.note({ ...tags, kind: "trouble", what: "store the output in S3", error: errorName(error) });
    return reply;
  }
}

/** A reply with its output elsewhere, and the reference to that in its place; one without an output as it is. */
export async function outputApart(reply: string, put: Put): Promise<string> {
  const { output, ...rest }: JsonObject = JSON.parse(reply);
  return output === undefined ? reply : replyText({ ...rest, outputRef: await put(replyText(output)) });
}
