import type { JobView, Overview } from "../core/overview.ts";
import type { Doing } from "../core/why-open.ts";
import type { Bounds, Controls } from "./controls.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { counted, grouped, span } from "../core/words.ts";
import { forMore, moment } from "./words.ts";

/** What a job does, in words: its colour says the same, and is never alone. */
export const doings: Readonly<Record<Doing, string>> = {
  asking: "at Bedrock",
  waiting: "waits for a lease",
  backoff: "backing off",
  claimed: "claimed",
  requeued: "requeued",
  due: "due",
  released: "released",
  abandoned: "abandoned",
};

export function jobsSection(overview: Overview, controls: Controls, bounds: Bounds): Markup {
  const { jobs, missing } = overview;
  return markup`<section data-part="jobs" aria-labelledby="sluice-jobs">
<h2 id="sluice-jobs">Why each job waits</h2>
${jobs.length === 0 ? nothingOpen(overview) : markup`${reasons(jobs, bounds)}${table(overview, controls, bounds)}`}
${missing !== "none" && markup`<p class="note">Not all open jobs are shown: the job table has more than is read at a time. The counts of the lanes below hold for all.</p>`}
</section>`;
}

function nothingOpen({ lanes, missing }: Overview): Markup {
  if (missing !== "none") return markup`<p class="empty">Among the jobs that were read none is open.</p>`;
  const waiting = lanes.reduce((sum, { depth }) => sum + (depth?.visible ?? 0), 0);
  return waiting > 0
    ? markup`<p class="empty">No worker has a job in hand; ${counted(waiting, "message waits", "messages wait")} in the lanes. If that stays so, see that the lanes are not paused and that their functions run.</p>`
    : markup`<p class="empty">Nothing waits: every job that a worker has seen is answered. Send one, as the README says under “Send a job”, and it is shown here.</p>`;
}

/** What most of them wait for: of ten thousand jobs nobody reads the list. */
function reasons(jobs: readonly JobView[], { reasonsMax }: Bounds): Markup {
  const groups = [...Map.groupBy(jobs, ({ doing, why }) => `${doing} ${headOf(why)}`).values()].toSorted(
    (a, b) => b.length - a.length,
  );
  const [shown, more] = [groups.slice(0, reasonsMax), groups.slice(reasonsMax)];
  const items = shown.flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [markup`<li><b>${grouped(others.length + 1)}</b> ${chip(first.doing)} <span>${headOf(first.why)}</span></li>`],
  );
  const rest = more.reduce((sum, group) => sum + group.length, 0);
  return markup`<ul class="reasons">${items}${rest > 0 && markup`<li><b>${grouped(rest)}</b> for other reasons</li>`}</ul>`;
}

/** Without what is particular to one job. */
function headOf(why: string): string {
  return why.replace(/, attempt \d+ of \d+/, "");
}

function chip(doing: Doing): Markup {
  return markup`<span class="chip ${doing}">${doings[doing]}</span>`;
}

const heads = ["Job", "Does", "Why", "Age", "Deadline", "Tries"] as const;

function table({ jobs, missing, atMs }: Overview, controls: Controls, { jobsMax }: Bounds): Markup {
  const { cancel } = controls;
  const shown = jobs.slice(0, jobsMax);
  const more = jobs.length - shown.length;
  const columns = [...heads, ...(cancel === undefined ? [] : [""])];
  return markup`<table class="jobs"><caption class="hidden">Open jobs, the oldest first</caption>
<thead><tr>${columns.map((head) => (head === "" ? markup`<td></td>` : markup`<th scope="col">${head}</th>`))}</tr></thead>
<tbody>${shown.map((job) => row(job, atMs, controls))}</tbody></table>
${more > 0 && markup`<p class="note">and ${grouped(more)} more${missing !== "any" && ", younger than these"}</p>`}`;
}

function row(job: JobView, nowMs: number, { cancel, job: link }: Controls): Markup {
  const { jobId, lane, doing, why, untilMs, enqueuedAtMs, deadlineAtMs, attempts, requeues, deliveries } = job;
  const tries = [
    ...(attempts > 0 ? [counted(attempts, "attempt")] : []),
    ...(requeues > 0 ? [counted(requeues, "requeue")] : []),
    counted(deliveries, "delivery", "deliveries"),
  ].join(", ");
  return markup`<tr>
<th scope="row">${link?.(jobId) ?? markup`<code>${jobId}</code>`}${lane !== undefined && markup` <span class="lane">${lane}</span>`}</th>
<td data-head="Does">${chip(doing)}</td>
<td data-head="Why" class="why">${why}${untilMs !== undefined && untilMs > nowMs && markup`, <span class="until">${forMore(untilMs, nowMs)}</span>`}</td>
<td data-head="Age" class="short">${enqueuedAtMs === undefined ? "–" : span(nowMs - enqueuedAtMs)}</td>
<td data-head="Deadline" class="short">${deadlineAtMs === undefined ? "–" : deadline(deadlineAtMs, nowMs)}</td>
<td data-head="Tries" class="short">${tries}</td>
${cancel !== undefined && markup`<td class="do">${cancel(jobId)}</td>`}</tr>
`;
}

function deadline(atMs: number, nowMs: number): Markup {
  return atMs > nowMs ? moment(atMs, nowMs) : markup`<span class="late">${moment(atMs, nowMs)}</span>`;
}
