import { allows } from "../core/breaker.ts";
import type { Breaker } from "../core/breaker.ts";
import type { LeaseView, LedgerView, Overview } from "../core/overview.ts";
import type { Bounds, Controls } from "./controls.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { counted, grouped, span } from "../core/words.ts";
import { forMore } from "./words.ts";

export function ledgersSection({ ledgers, atMs, chains }: Overview, controls: Controls, bounds: Bounds): Markup {
  return markup`<section data-part="leases" aria-labelledby="sluice-leases">
<h2 id="sluice-leases">Leases and who holds them</h2>
<ul class="cards">${ledgers.map((ledger) => card(ledger, atMs, controls, bounds))}</ul>
${chains.map(({ model, chain }) => markup`<p class="note">An operator has ${model} try ${chain.join(", then ")} first.</p>`)}
</section>`;
}

const kinds = {
  target: "target",
  operation: "limit of an operation",
  group: "limit of a quota group",
  global: "limit of everything",
} as const;

function card(ledger: LedgerView, nowMs: number, controls: Controls, { holdersMax }: Bounds): Markup {
  const { name, kind, inUse, limit, limitMax, fullFor, leases, region, modelId } = ledger;
  const states = statesOf(ledger, nowMs);
  const where = kind === "target" ? [modelId, region].filter((part) => part !== undefined).join(" in ") : kinds[kind];
  const what = `${grouped(inUse)} of ${grouped(limit)} leases`;
  return markup`<li class="card"><h3>${name}</h3>
<p class="where">${where}</p>
<p class="use"><b>${what}</b> in use${fullFor.length > 0 && `, full for ${fullFor.join(" and ")}`}${limit < limitMax && markup`, at most ${grouped(limitMax)}`}</p>
${bar(inUse, limit, limitMax, what)}
${states.length > 0 && markup`<p class="states">${states}</p>`}
${holders(leases, nowMs, holdersMax)}
${control(ledger, controls)}</li>
`;
}

function control({ name, isOut, paused, override }: LedgerView, { pause, resume }: Controls): Markup | false {
  const byOperator = isOut || paused?.by === "operator" || override?.pausedUntilMs !== undefined;
  const button = byOperator ? resume?.(name) : pause?.(name);
  return button !== undefined && markup`<p class="do">${button}</p>`;
}

/** Filled as far as leases are out; the line is the limit that was learned, where it is below the configured one. */
function bar(inUse: number, limit: number, limitMax: number, what: string): Markup {
  const part = (count: number) => Math.round((1_000 * Math.min(count, limitMax)) / Math.max(1, limitMax));
  return markup`<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${what}"><rect class="trough" width="1000" height="10"/><rect class="${inUse >= limit ? "full" : "fill"}" width="${part(inUse)}" height="10"/>${limit < limitMax && markup`<rect class="mark" x="${part(limit)}" width="6" height="10"/>`}</svg>`;
}

function statesOf({ isOut, paused, breaker, override }: LedgerView, nowMs: number): readonly Markup[] {
  return [
    ...(isOut ? [markup`<span class="chip bad">taken out by an operator</span> `] : []),
    ...(paused === undefined
      ? []
      : [
          markup`<span class="chip warn">paused by ${paused.by === "operator" ? "an operator" : "a throttle"}, ${forMore(paused.untilMs, nowMs)}</span> `,
        ]),
    ...breakerChip(breaker, nowMs),
    ...(override?.limit === undefined
      ? []
      : [markup`<span class="chip">limit set to ${grouped(override.limit)}</span> `]),
  ];
}

function breakerChip(breaker: Breaker | undefined, nowMs: number): readonly Markup[] {
  if (breaker === undefined) return [];
  switch (breaker.kind) {
    case "closed":
      return breaker.failures === 0
        ? []
        : [markup`<span class="chip">breaker closed, ${counted(breaker.failures, "failure")} in a row</span> `];
    case "open":
      return allows(breaker, nowMs).kind === "no"
        ? [markup`<span class="chip bad">breaker open, ${forMore(breaker.openUntilMs, nowMs)}</span> `]
        : [markup`<span class="chip warn">breaker open, the next attempt is its probe</span> `];
    case "half-open":
      return [
        markup`<span class="chip warn">breaker half-open, ${breaker.probe === undefined ? "the next attempt is its probe" : "a probe is out"}</span> `,
      ];
  }
}

/** Leases of one container are one line: a lease does not say which of its jobs it is for. */
function holders(leases: readonly LeaseView[], nowMs: number, holdersMax: number): Markup | false {
  if (leases.length === 0) return false;
  const groups = [...Map.groupBy(leases, holderOf).entries()];
  const shown = groups.slice(0, holdersMax);
  const more = groups.length - shown.length;
  return markup`<ul class="holders">${shown.map(([holder, its]) => holderLine(holder, its, nowMs))}${more > 0 && markup`<li>and ${counted(more, "more holder")}</li>`}</ul>`;
}

function holderOf({ worker, id, hasLapsed }: LeaseView): string {
  if (hasLapsed) return "a holder that is gone";
  return worker === undefined ? `a worker whose leases begin with ${id.slice(0, 4)}` : `worker ${worker}`;
}

const jobsNamedMax = 4;

function holderLine(holder: string, leases: readonly LeaseView[], nowMs: number): Markup {
  const jobIds = [...new Set(leases.flatMap((lease) => lease.jobIds))];
  const named = jobIds.slice(0, jobsNamedMax).map((jobId, place) => markup`${place > 0 && ", "}<code>${jobId}</code>`);
  const more = jobIds.length - named.length;
  const lastMs = Math.max(...leases.map(({ expiresAtMs }) => expiresAtMs));
  const until =
    lastMs > nowMs ? `held for ${span(lastMs - nowMs)} unless renewed` : "lapsed: the next who wants one takes it";
  return markup`<li>${counted(leases.length, "lease")}: ${holder}${named.length > 0 && markup`, for ${named}`}${more > 0 && ` and ${more} more`}; ${until}</li>`;
}
