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
  /** The tokens of the tasks that were told to live on, in order. */
  readonly beats: readonly string[];
}

export function createMemoryAnnouncer(): MemoryAnnouncer {
  const sent: Announcement[] = [];
  const beats: string[] = [];
  return {
    sent,
    beats,
    async announce(to, reply) {
      sent.push({ to, reply });
      return "sent";
    },
    async beat(token) {
      beats.push(token);
      return "alive";
    },
  };
}
