import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { eventOf } from "../core/announcement.ts";
import { withTimeout } from "./clients.ts";
import type { Where } from "./clients.ts";

/** Puts replies on event buses. Throws what EventBridge says of the entry too: its answer is a 200 all the same. */
export function createEventBuses(where: Where) {
  const client = new EventBridgeClient({ ...where, ...withTimeout(3_000) });
  return {
    async put(EventBusName: string, reply: string, trace?: string): Promise<void> {
      const { source: Source, detailType: DetailType, detail: Detail } = eventOf(reply);
      const { FailedEntryCount = 0, Entries = [] } = await client.send(
        new PutEventsCommand({
          Entries: [
            { EventBusName, Source, DetailType, Detail, ...(trace === undefined ? {} : { TraceHeader: trace }) },
          ],
        }),
      );
      if (FailedEntryCount === 0) return;
      const { ErrorCode = "FailedEntry" } = Entries[0] ?? {};
      throw Object.assign(new Error("EventBridge did not take the event"), { name: ErrorCode });
    },
  };
}
