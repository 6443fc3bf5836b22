/** Turns what happens in a run into lines. */
import type { Reply } from "../../lib/core/reply.ts";
import type { Watch } from "./run.ts";
import type { Sample } from "./samples/first.ts";
import type { Screen } from "./screen.ts";
import type { ServiceNews } from "./service.ts";
import { seconds } from "./summary.ts";

export interface Show extends Watch {
  news(news: ServiceNews): void;
}

/** The same trouble again and again would bury everything else. */
const sameTroubleMax = 3;
const openShownMax = 3;

/** Samples are shown one by one with what they show; the jobs of a file are only counted. */
export function showOn(screen: Screen, samples: readonly Sample[]): Show {
  const startedAtMs = Date.now();
  const shows = new Map(
    samples.flatMap((sample) => ("job" in sample && sample.kind !== "again" ? [[sample.job.jobId, sample.shows]] : [])),
  );
  const troubles = new Map<string, number>();

  function trouble(what: string): void {
    const times = (troubles.get(what) ?? 0) + 1;
    troubles.set(what, times);
    if (times <= sameTroubleMax) screen.line(screen.style("yellow", what));
  }

  return {
    trouble,
    replied(reply, afterMs) {
      const says = shows.get(reply.jobId);
      if (samples.length === 0) return;
      const how = reply.ok ? screen.style("green", "succeeded") : screen.style(colourOf(reply), reply.status.padEnd(9));
      screen.line(
        `${seconds(afterMs).padStart(7)}  ${how}  ${reply.jobId.padEnd(18)} ${whereOrWhy(reply).padEnd(24)} ${says ?? ""}`,
      );
    },
    progress({ jobs, unanswered, succeeded }, open) {
      const waiting = open.slice(0, openShownMax).map(({ jobId, stage = "queued" }) => `${jobId} ${stage}`);
      const few = unanswered > 0 && unanswered <= openShownMax ? `; ${waiting.join(", ")}` : "";
      screen.status(
        `${seconds(Date.now() - startedAtMs).padStart(7)}  ${jobs - unanswered} of ${jobs} answered, ${succeeded} succeeded${few}`,
      );
    },
    news(news) {
      if (news.kind === "trouble") trouble(`${news.from}: SQS refused to ${news.what}: ${news.name}`);
      if (news.kind !== "invoked" || news.how.kind === "returned") return;
      trouble(
        `${news.from}: ${news.how.kind === "threw" ? news.how.name : "the function's timeout"}; its messages come again; see its log`,
      );
    },
  };
}

function whereOrWhy(reply: Reply): string {
  if (!reply.ok) return reply.error.code;
  return reply.meta.target === undefined ? "" : `${reply.meta.model}@${reply.meta.target}`;
}

function colourOf(reply: Reply): "red" | "yellow" {
  return reply.status === "failed" ? "red" : "yellow";
}
