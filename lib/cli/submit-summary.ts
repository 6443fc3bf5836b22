/** What sending a file came to, for a person and for a program. */
import { counted, grouped, lasting, span } from "../core/words.ts";
import { codeLines, latencyLines, namedLines } from "../terminal/outcome.ts";
import { laid, listed } from "../terminal/words.ts";
import type { Sums } from "./sums.ts";

export interface Submitted {
  readonly sums: Sums;
  readonly waits: boolean;
  readonly wallMs: number;
  readonly interrupted: boolean;
  /** The command that goes on where this one was stopped. */
  readonly again: string;
  readonly replies: string | undefined;
}

const barColumns = 20;
const barFromColumns = 100;

/** One line; on a narrow terminal its end is cut, so that what matters most stands first. */
export function progressText(sums: Sums, waits: boolean, columns: number): string {
  const { jobs, notSent, failed, expired, cancelled } = sums.counts;
  const { open, running, rate } = sums;
  const all = jobs - notSent;
  if (!waits) return `${grouped(sums.sentCount)} sent`;
  const bad = failed + expired + cancelled + notSent;
  const said = [
    `${grouped(all - open)} of ${grouped(all)} done`,
    ...(bad > 0 ? [`${grouped(bad)} failed`] : []),
    `${grouped(running)} in flight`,
    `${grouped(open - running)} waiting`,
    ...(rate === undefined ? [] : [`${rate.toFixed(1)}/s`]),
    ...(rate === undefined || rate === 0 || open === 0 ? [] : [`${span((open * 1_000) / rate)} left`]),
  ].join(", ");
  return columns < barFromColumns ? said : `${bar(all === 0 ? 0 : (all - open) / all)} ${said}`;
}

function bar(share: number): string {
  const full = Math.floor(share * barColumns);
  return "█".repeat(full) + "░".repeat(barColumns - full);
}

export function documentOf({ sums, wallMs, interrupted }: Submitted): unknown {
  const { notSent, ...counts } = sums.counts;
  return {
    ...counts,
    sent: sums.sentCount,
    answeredBefore: sums.answeredBefore,
    open: sums.open,
    notSent,
    linesRefused: sums.linesRefused,
    copies: sums.copies,
    codes: sums.codes,
    totalMs: { p50: sums.totalMsAt(50) ?? null, p99: sums.totalMsAt(99) ?? null },
    perSecond: perSecond(sums, wallMs),
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    costUsd: Number(sums.costUsd.toFixed(6)),
    wallMs,
    rssMbMax: Math.round(process.resourceUsage().maxRSS / 1_024),
    interrupted,
  };
}

export function summaryLines(submitted: Submitted, columns: number): readonly string[] {
  const { sums, waits, wallMs, interrupted, again, replies } = submitted;
  const { jobs, notSent, ...ends } = sums.counts;
  const { open, answeredBefore, linesRefused, copies } = sums;
  const lay = (label: string, text: string) => laid(label, text, columns);
  const done = jobs - notSent - open;
  const were = answeredBefore === 1 ? "was" : "were";
  const unpriced = sums.unpriced > 0 ? `, without ${counted(sums.unpriced, "job")} that it has none for` : "";
  return [
    `${counted(jobs, "job")} in ${lasting(wallMs)}: ${waits ? listed({ ...ends, open, "not sent": notSent }) : listedSent(sums)}`,
    ...(answeredBefore > 0
      ? lay("before", `${counted(answeredBefore, "job")} had been answered before and ${were} not sent again`)
      : []),
    ...codeLines(sums.codes, columns),
    ...(linesRefused > 0 ? lay("refused", `${counted(linesRefused, "line")} of the file`) : []),
    ...(copies > 0 ? lay("copies", `${counted(copies, "line")} of jobs that the file has twice`) : []),
    ...(done - answeredBefore > 0 && waits
      ? lay("rate", `${perSecond(sums, wallMs)?.toFixed(1) ?? "?"} jobs a second`)
      : []),
    ...latencyLines(sums.totalMsAt(50), sums.totalMsAt(99), columns),
    ...(done > 0 ? lay("tokens", `${grouped(sums.inputTokens)} in, ${grouped(sums.outputTokens)} out`) : []),
    ...(sums.costUsd > 0 ? lay("cost", `about ${usd(sums.costUsd)} by the config's prices${unpriced}`) : []),
    ...(replies === undefined ? [] : laid("replies", [replies], columns)),
    ...unsuccessfulLines(sums),
    ...(interrupted
      ? [
          "",
          `Stopped. The same command picks up again: ${again}`,
          "  What was sent runs on; what is answered is not sent again.",
        ]
      : []),
    ...(!waits && open > 0
      ? ["", "Watch them: npx sluice jobs. Their replies: the same command with --replies OUT.jsonl"]
      : []),
  ];
}

function listedSent({ sentCount, open, answeredBefore, counts }: Sums): string {
  const underWay = open - sentCount;
  return [
    `${grouped(sentCount)} sent`,
    ...(underWay > 0 ? [`${grouped(underWay)} under way already`] : []),
    ...(answeredBefore > 0 ? [`${grouped(answeredBefore)} answered before`] : []),
    ...(counts.notSent > 0 ? [`${grouped(counts.notSent)} not sent`] : []),
  ].join(", ");
}

function unsuccessfulLines({ unsuccessful, open }: Sums): readonly string[] {
  const named = unsuccessful.filter(({ code }) => code !== "unanswered");
  if (named.length === 0) return [];
  return ["", open > 0 ? "Did not succeed so far" : "Did not succeed", ...namedLines(named)];
}

/** Replies that came in this run. */
function perSecond(sums: Sums, wallMs: number): number | null {
  const { jobs, notSent } = sums.counts;
  const done = jobs - notSent - sums.open - sums.answeredBefore;
  return wallMs === 0 ? null : Number(((done * 1_000) / wallMs).toFixed(2));
}

function usd(amount: number): string {
  return amount >= 1 ? `$${amount.toFixed(2)}` : `$${amount.toPrecision(2)}`;
}
