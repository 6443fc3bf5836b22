/** The page's documents: whole, and what is inside, which is asked for again and again. */
import { readReplyMeta } from "./reply-facts.ts";
import type { JobRow } from "../../../lib/core/claim.ts";
import type { Config } from "../../../lib/core/config.ts";
import type { Overview } from "../../../lib/core/overview.ts";
import type { Controls } from "../../../lib/view/controls.ts";
import { markup } from "../../../lib/view/markup.ts";
import type { Markup } from "../../../lib/view/markup.ts";
import { overviewMarkup } from "../../../lib/view/overview.ts";
import { timelineMarkup } from "../../../lib/view/timeline.ts";
import type { Heard } from "../../../lib/view/timeline.ts";
import { counted } from "../../../lib/core/words.ts";
import { forMore, moment } from "../../../lib/view/words.ts";
import { chartsSection } from "./charts.ts";
import type { Ended, History } from "./history.ts";
import type { Measured } from "./measured.ts";
import type { ParkedView } from "./watch.ts";

/** `said`: what the last button did, for a browser without script. */
export function wholePage(title: string, inside: Markup, said = ""): string {
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><link rel="stylesheet" href="/page.css"><link rel="icon" href="data:,">
<noscript><meta http-equiv="refresh" content="5"></noscript><script src="/page.js" defer></script></head>
<body class="sluice page"><a class="skip" href="#inside">To the jobs</a>
<header><h1><a href="/">Sluice on this machine</a></h1>
<form action="/job" role="search"><label class="hidden" for="find">Job</label><input id="find" name="id" placeholder="jobId" maxlength="128" required><button>Timeline</button></form></header>
<div><p id="said" class="notice" role="status">${said}</p></div>
<main id="inside">${inside}</main></body></html>`.text;
}

const controls: Controls = {
  cancel: (jobId) =>
    post(
      "/cancel",
      "jobId",
      jobId,
      "Cancel",
      `Cancel job ${jobId}`,
      `Cancel job ${jobId}? Its reply will be “cancelled”.`,
    ),
  pause: (name) => post("/pause", "name", name, "Pause", `Pause ${name}`),
  resume: (name) => post("/resume", "name", name, "Resume", `Resume ${name}`),
  rerun: () => markup`<a href="/parked" data-key="parked">Look at them, and run them again</a>`,
  job: (jobId) =>
    markup`<a href="/job?id=${encodeURIComponent(jobId)}" data-key="job ${jobId}"><code>${jobId}</code></a>`,
};

/** A button that posts one value; it asks first where it cannot be undone. */
function post(action: string, field: string, value: string, label: string, says: string, confirm?: string): Markup {
  return markup`<form method="post" action="${action}"${confirm !== undefined && markup` data-confirm="${confirm}"`}><input type="hidden" name="${field}" value="${value}"><button data-key="${says}" aria-label="${says}">${label}</button></form>`;
}

export function overviewInside(overview: Overview, measured: Measured, history: History, config: Config): Markup {
  return markup`${overviewMarkup(overview, controls)}
${chartsSection(measured, config, overview.atMs)}
${recent(history.ended(), overview.atMs)}`;
}

function recent(ended: readonly Ended[], nowMs: number): Markup | false {
  if (ended.length === 0) return false;
  return markup`<section data-part="recent" aria-labelledby="sluice-recent"><h2 id="sluice-recent">Ended last</h2>
<ul class="recent">${ended.map(({ jobId, status, atMs }) => markup`<li>${controls.job?.(jobId)} ${status}, ${moment(atMs, nowMs)}</li>`)}</ul></section>`;
}

/** `standing`: as the overview has it, while the job is open. */
export function jobInside(jobId: string, row: JobRow | undefined, heard: readonly Heard[], overview: Overview): Markup {
  const nowMs = overview.atMs;
  const open = overview.jobs.find((job) => job.jobId === jobId);
  if (row === undefined && heard.length === 0)
    return markup`<h2>${jobId}</h2><p class="empty">No worker has seen a job of this name. If it was sent just now, it is on its way: look again. Else see the name, letter for letter.</p>`;
  return markup`<section aria-labelledby="job"><h2 id="job">Job <code>${jobId}</code></h2>
${open !== undefined && markup`<p>It is open: <span class="chip ${open.doing}">${open.doing}</span> ${open.why}${open.untilMs !== undefined && open.untilMs > nowMs && markup`, ${forMore(open.untilMs, nowMs)}`}. ${controls.cancel?.(jobId)}</p>`}
${row !== undefined && facts(row, nowMs)}
<h2>Timeline</h2>
${heard.length > 0 ? timelineMarkup(heard, nowMs) : markup`<p class="note">This run has heard nothing of it: what stands above is all that its row tells.</p>`}</section>`;
}

function facts(row: JobRow, nowMs: number): Markup {
  const { lane, step, stage, enqueuedAtMs, deadlineAtMs, requests, requeues, fence, reruns = {} } = row;
  const reply = readReplyMeta(row);
  const known: readonly (readonly [name: string, value: Markup | string | undefined])[] = [
    ["lane", lane],
    ["stage", stage],
    ["step", step],
    ["queued", enqueuedAtMs === undefined ? undefined : moment(enqueuedAtMs, nowMs)],
    ["deadline", deadlineAtMs === undefined ? undefined : moment(deadlineAtMs, nowMs)],
    [
      "tries",
      `${counted(requests, "attempt")}, ${counted(requeues, "requeue")}, ${counted(fence, "delivery", "deliveries")}`,
    ],
    ...reply,
    ["run again as", Object.values(reruns).join(", ") || undefined],
  ];
  return markup`<dl class="facts">${known.map(([name, value]) => value !== undefined && markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

export function parkedInside(parked: readonly ParkedView[], count: number): Markup {
  if (parked.length === 0)
    return markup`<h2>Parked</h2><p class="empty">${count > 0 ? "Somebody else looks at them at this moment: look again in a second." : "Nothing is parked."}</p>`;
  const more = count - parked.length;
  return markup`<section aria-labelledby="parked"><h2 id="parked">Parked: each waits for you, with its reason</h2>
<table class="jobs"><thead><tr><th scope="col">Job</th><th scope="col">Reason</th><th scope="col">Lane</th><td></td></tr></thead><tbody>
${parked.map(
  ({ messageId, jobId, reason, lane }) =>
    markup`<tr><th scope="row">${jobId === undefined ? "no job" : controls.job?.(jobId)}</th><td data-head="Reason">${reason}</td><td data-head="Lane">${lane}</td><td class="do">${jobId !== undefined && post("/rerun", "messageId", messageId, "Run again", `Run ${jobId} again, as a new job`)}</td></tr>`,
)}</tbody></table>
${more > 0 && markup`<p class="note">and ${counted(more, "more message")}</p>`}
<p class="note">A message that asks for no job cannot be run again: its sender has to be corrected.</p></section>`;
}
