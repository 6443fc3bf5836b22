import type { Depth, LaneView, Overview } from "../core/overview.ts";
import type { Controls } from "./controls.ts";
import { laneMeans } from "./controls.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { grouped } from "../core/words.ts";
import { forMore } from "./words.ts";

export function lanesSection({ lanes, parked, replies, atMs }: Overview, controls: Controls): Markup {
  return markup`<section data-part="lanes" aria-labelledby="sluice-lanes">
<h2 id="sluice-lanes">Lanes</h2>
<ul class="cards lanes">${lanes.map((lane) => laneCard(lane, atMs, controls))}${parkedCard(parked, controls)}${repliesCard(replies)}</ul>
</section>`;
}

function laneCard(view: LaneView, nowMs: number, controls: Controls): Markup {
  const { lane, depth, deadLetters, pausedUntilMs, budget } = view;
  const dead = countOf(deadLetters);
  const isPaused = pausedUntilMs !== undefined;
  const button = isPaused ? controls.resume?.(lane) : controls.pause?.(lane);
  return markup`<li class="card"><h3>${lane}</h3>
<p class="where">${laneMeans[lane]}</p>
<dl>${fact("waiting", depth?.visible)}${fact("in hand or hidden", depth?.hidden)}${fact("dead letters", dead, dead !== undefined && dead > 0)}</dl>
${budget && markup`<p class="where">${dollars(budget.spentUsd)} of ${dollars(budget.budgetUsd)} USD spent today</p>`}
${budget?.untilMs !== undefined && markup`<p class="states"><span class="chip warn">budget spent, ${forMore(budget.untilMs, nowMs)}</span></p>`}
${isPaused && markup`<p class="states"><span class="chip warn">paused, ${forMore(pausedUntilMs, nowMs)}</span></p>`}
${button !== undefined && markup`<p class="do">${button}</p>`}</li>
`;
}

/** Cents are enough, but of what is less. */
function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? "< 0.01" : usd.toFixed(2);
}

function parkedCard(parked: Depth | undefined, { rerun }: Controls): Markup {
  const count = countOf(parked);
  const waits = count !== undefined && count > 0;
  return markup`<li class="card"><h3>parked</h3>
<p class="where">${waits ? "each waits for you, with its reason" : "what waits for an operator"}</p>
<dl>${fact("messages", count, waits)}</dl>
${waits && rerun !== undefined && markup`<p class="do">${rerun()}</p>`}</li>
`;
}

function repliesCard(replies: Depth | undefined): Markup {
  const count = countOf(replies);
  return markup`<li class="card"><h3>replies queue</h3>
<p class="where">replies that the job table did not take at first</p>
<dl>${fact("messages", count, count !== undefined && count > 0)}</dl></li>
`;
}

function countOf(depth: Depth | undefined): number | undefined {
  return depth && depth.visible + depth.hidden;
}

function fact(name: string, count: number | undefined, isTrouble = false): Markup {
  return markup`<div><dt>${name}</dt><dd${isTrouble && markup` class="trouble"`}>${count === undefined ? "–" : grouped(count)}</dd></div>`;
}
