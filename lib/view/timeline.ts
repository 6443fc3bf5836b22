import type { Doing } from "../core/why-open.ts";
import { doings } from "./jobs.ts";
import { markup } from "./markup.ts";
import type { Markup } from "./markup.ts";
import { lasting, span } from "../core/words.ts";

/** Something that a worker said of a job: `kind` as in the log, `facts` whatever it said beside it, never content. */
export interface Heard {
  readonly atMs: number;
  readonly kind: string;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** A part of a job's life, from one stage to the next; `toMs` is absent while it lasts. */
export interface Phase {
  readonly doing: Doing | "ended";
  /** As in the log: `attempt=2/4`. */
  readonly stage: string;
  readonly step?: string;
  readonly fromMs: number;
  readonly toMs?: number;
}

export function phasesOf(heard: readonly Heard[]): readonly Phase[] {
  const stages = heard.filter(({ kind }) => kind === "stage");
  return stages.map(({ atMs, facts }, place): Phase => {
    const stage = String(facts["stage"] ?? "");
    const doing = doingOf(stage);
    const step = stepOf(facts);
    const toMs = stages[place + 1]?.atMs;
    return { doing, stage, fromMs: atMs, ...(step === "" ? {} : { step }), ...(toMs === undefined ? {} : { toMs }) };
  });
}

function doingOf(stage: string): Phase["doing"] {
  if (stage.startsWith("attempt=")) return "asking";
  if (stage.startsWith("requeued")) return "requeued";
  if (stage === "waiting" || stage === "backoff") return stage;
  return stage === "queued" ? "due" : "ended";
}

/** Where the time of a job's life went: a bar, the phases by name and length, and all that was said. */
export function timelineMarkup(heard: readonly Heard[], nowMs: number): Markup {
  const phases = phasesOf(heard);
  return markup`${phases.length > 0 && bar(phases, nowMs)}
<ol class="life">${heard.map((each) => item(each, heard[0]?.atMs ?? nowMs))}</ol>`;
}

const barWidth = 1_000;

function bar(phases: readonly Phase[], nowMs: number): Markup {
  const before = phases.filter(({ doing }) => doing !== "ended");
  const [first, last] = [phases[0], phases.at(-1)];
  const fromMs = first?.fromMs ?? nowMs;
  const endMs = last?.doing === "ended" ? last.fromMs : nowMs;
  const lengthMs = Math.max(1, endMs - fromMs);
  const place = (atMs: number) => Math.round((barWidth * (atMs - fromMs)) / lengthMs);
  const drawn = before.map(({ doing, fromMs: startMs, toMs = nowMs }) => {
    const x = place(startMs);
    return markup`<rect class="p-${doing}" x="${x}" width="${Math.max(2, place(toMs) - x)}" height="20"/>`;
  });
  const said = before.map((phase) => `${saidOf(phase)} ${span((phase.toMs ?? nowMs) - phase.fromMs)}`).join(", ");
  const legend = before.map((phase) => {
    const tookMs = (phase.toMs ?? nowMs) - phase.fromMs;
    return markup`<li><span class="chip ${phase.doing}">${saidOf(phase)}</span> ${lasting(tookMs)}</li>`;
  });
  return markup`<svg class="phases" viewBox="0 0 ${barWidth} 20" preserveAspectRatio="none" role="img" aria-label="${said}">${drawn}</svg>
<ul class="legend phases">${legend}</ul>`;
}

function saidOf({ doing, stage }: Phase): string {
  if (doing === "ended") return stage;
  const attempt = /^attempt=(.*)$/.exec(stage)?.[1];
  return attempt === undefined ? doings[doing] : `${doings[doing]}, attempt ${attempt}`;
}

function item({ atMs, kind, facts }: Heard, firstMs: number): Markup {
  const iso = new Date(atMs).toISOString();
  return markup`<li><time datetime="${iso}" title="${iso}">${lasting(atMs - firstMs)}</time> <span>${sentence(kind, facts)}</span></li>`;
}

function stepOf({ model, target }: Heard["facts"]): string {
  if (model === undefined) return "";
  return target === undefined ? String(model) : `${model}@${target}`;
}

/** What was said, for a person; what has no sentence of its own is told by its facts. */
function sentence(kind: string, facts: Heard["facts"]): Markup {
  const step = stepOf(facts);
  const at = step === "" ? "" : ` at ${step}`;
  const { stage = "", outcome = "", name = "", tookMs = 0, cause = "", delayS = 0, reason = "", status = "" } = facts;
  switch (kind) {
    case "delivered":
      return markup`delivered to a worker of ${facts["lane"] ?? "its lane"}, receive ${facts["receives"] ?? "?"}`;
    case "claimed":
      return markup`claimed, delivery ${facts["fence"] ?? "?"}`;
    case "stage": {
      const text = String(stage);
      const doing = doingOf(text);
      const phase: Phase = { doing, stage: text, fromMs: 0 };
      return doing === "ended"
        ? markup`<span class="chip">${text}</span>`
        : markup`<span class="chip ${doing}">${saidOf(phase)}</span>${doing !== "requeued" && at}`;
    }
    case "attempted":
      return markup`the attempt${at} ended: ${outcome}${name !== "" && name !== outcome && `, ${name}`}, after ${lasting(Number(tookMs))}`;
    case "requeued":
      return markup`handed back to SQS for ${delayS} s: ${cause}`;
    case "step-skipped":
      return markup`${step === "" ? "a step" : step} skipped: ${reason}`;
    case "lease-refused":
      return markup`no lease${at}: ${reason}`;
    case "fallback":
      return markup`falls back to the next step`;
    case "duplicate":
      return markup`another message of this job, acknowledged: ${facts["why"] ?? ""}`;
    case "replied":
      return markup`reply stored: ${status}${facts["code"] !== undefined && `, ${facts["code"]}`}`;
    default:
      return markup`${kind} ${Object.entries(facts)
        .filter(([key]) => !tags.has(key))
        .map(([key, value]) => `${key} ${value}`)
        .join(", ")}`;
  }
}

/** On every line alike. */
const tags = new Set(["jobId", "messageId", "lane", "model", "target", "fence", "attempt"]);
