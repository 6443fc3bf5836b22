/** Turns what happens in a run into lines. */
import type { Reply } from "../../lib/core/reply.ts";
import type { Watch } from "./run.ts";
import type { Sample } from "./samples/first.ts";
import type { Screen } from "../../lib/terminal/screen.ts";
import { counted, seconds } from "../../lib/core/words.ts";
import type { ServiceNews } from "./service.ts";
import type { Result } from "./summary.ts";

export interface Show extends Watch {
  replied(reply: Reply, afterMs: number): void;
  news(news: ServiceNews): void;
  /** Tells of the samples that no reply came for. */
  afterwards(result: Result): void;
}

/** The same trouble again and again would bury everything else. */
const sameTroubleMax = 3;
const openShownMax = 3;

/** Samples are shown one by one with what they show; the jobs of a file are only counted. */
export function showOn(screen: Screen, samples: readonly Sample[]): Show {
  const shows = new Map(samples.flatMap((sample) => titled(sample)));
  const troubles = new Map<string, number>();

  function trouble(what: string, kind?: string): void {
    const times = (troubles.get(kind ?? what) ?? 0) + 1;
    troubles.set(kind ?? what, times);
    if (times <= (kind === undefined ? sameTroubleMax : 1)) screen.tell(what, "yellow");
  }

  function row(after: string, how: string, jobId: string, where: string, title: string): void {
    // The title comes last: a narrow terminal cuts it, and nothing else.
    screen.line(`${after.padStart(6)}  ${how} ${jobId.padEnd(18)} ${where.padEnd(20)} ${title}`);
  }

  return {
    trouble,
    replied(reply, afterMs) {
      const title = shows.get(reply.jobId);
      if (title === undefined) return;
      const colour = ({ succeeded: "green", failed: "red", expired: "yellow", cancelled: "yellow" } as const)[
        reply.status
      ];
      row(seconds(afterMs), screen.style(colour, reply.status.padEnd(9)), reply.jobId, whereOrWhy(reply), title);
    },
    progress({ jobs, unanswered, succeeded }, open, afterMs) {
      const said = `${jobs - unanswered} of ${jobs} answered, ${succeeded} succeeded`;
      const shown = open.slice(0, openShownMax);
      const waiting = shown.map(({ jobId, stage = "queued" }) => `${jobId} ${fromNow(stage, Date.now())}`);
      const facts = [said, ...shown.map(({ jobId, stage = "queued" }) => `${jobId} ${stage}`)];
      screen.status([`${seconds(afterMs).padStart(6)}  ${said}`, ...waiting].join("; "), facts.join("; "));
    },
    news(news) {
      if (news.kind === "trouble") trouble(`${news.from}: SQS refused to ${news.what}: ${news.name}`);
      if (news.kind === "gone")
        trouble(
          `the engine of ${news.from} has died, and nothing works without it; end this with Ctrl-C, and start again`,
        );
      if (news.kind === "log-lost")
        trouble(
          `the log of ${news.from} cannot be written (${news.code}), and goes on without a word; see to the disk's room`,
        );
      if (news.kind !== "invoked" || news.how.kind === "returned") return;
      const why = news.how.kind === "threw" ? news.how.name : "the function's timeout";
      trouble(`${news.from}: ${why}; its messages come again; see its log`);
    },
    afterwards({ outcome, bedrock }) {
      for (const sample of samples) {
        if (sample.kind === "again") {
          const { calls = 0 } = bedrock?.jobs[sample.job.jobId] ?? {};
          row(
            "",
            "again    ",
            sample.job.jobId,
            bedrock === undefined ? "" : `${counted(calls, "request")} in all`,
            sample.shows,
          );
        }
        if (sample.kind === "body" && sample.jobId === undefined && outcome.parked > 0) {
          row("", screen.style("yellow", "parked   "), "", outcome.parkReasons[0] ?? "", sample.shows);
        }
      }
    },
  };
}

/** The samples that a reply will come for. */
function titled(sample: Sample): readonly (readonly [jobId: string, title: string])[] {
  switch (sample.kind) {
    case "job":
    case "cancelled":
      return [[sample.job.jobId, sample.shows]];
    case "body":
      return sample.jobId === undefined ? [] : [[sample.jobId, sample.shows]];
    case "again":
      return [];
  }
}

function whereOrWhy(reply: Reply): string {
  if (!reply.ok) return reply.error.code;
  return reply.meta.target === undefined ? "" : `${reply.meta.model}@${reply.meta.target}`;
}

/** `requeued until 2026-11-29T15:48:08.700Z` is hard to read for somebody who waits. */
function fromNow(stage: string, nowMs: number): string {
  return stage.replace(/until (\S+)$/, (whole, at: string) => {
    const leftMs = Date.parse(at) - nowMs;
    return Number.isNaN(leftMs) ? whole : `for ${seconds(Math.max(0, leftMs))}`;
  });
}
