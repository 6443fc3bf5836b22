import type { ReplyTo } from "../core/reply-to.ts";
import type { Announcer } from "../ports.ts";

export interface Announcement {
  readonly to: ReplyTo;
  readonly reply: string;
}

/** Everybody waits, and hears. */
export interface MemoryAnnouncer extends Announcer {
  /** All announcements, in order. */
  readonly sent: readonly Announcement[];
}

export function createMemoryAnnouncer(): MemoryAnnouncer {
  const sent: Announcement[] = [];
  return {
    sent,
    async announce(to, reply) {
      sent.push({ to, reply });
      return "sent";
    },
  };
}
