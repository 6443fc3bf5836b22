import { cancel } from "../client/cancel.ts";
import type { Config } from "../core/config.ts";
import { errorName } from "../core/error-name.ts";
import { isLane } from "../core/lane.ts";
import { ledgersOf } from "../core/ledgers.ts";
import { foreverMs } from "../core/override.ts";
import { readOverview } from "../operate/read-overview.ts";
import { changeOverride, resumed } from "../operate/set-override.ts";
import type { Clock, JobTable, LeaseTable, QueueDepths } from "../ports.ts";
import { boundsDefault } from "../view/controls.ts";
import type { Controls } from "../view/controls.ts";
import { cancelDone, pauseDone } from "../view/done.ts";
import { markup, Markup } from "../view/markup.ts";
import { overviewMarkup } from "../view/overview.ts";
import { remedyFor } from "../view/remedy.ts";
import { stylesheet } from "../view/style.ts";
import type { Theme } from "../view/style.ts";
import { widgetAsk } from "./event.ts";
import type { WidgetAsk } from "./event.ts";

export interface Widget {
  readonly config: Config;
  readonly clock: Clock;
  readonly jobs: JobTable;
  readonly leases: LeaseTable;
  readonly queues: QueueDepths;
  /** Whether it may do what its buttons say; without it there are none. */
  readonly actions: boolean;
  /** Told of what kept it from answering. */
  readonly trouble: (what: string, error: string) => void;
}

/** HTML for the console, or the documentation of the widget. */
export type WidgetAnswer = string | { readonly markdown: string };

/**
 * Never rejects: whatever goes wrong is said where somebody looks.
 * @param endpoint the function's ARN, which its own buttons call.
 */
export async function answerWidget(event: unknown, endpoint: string, widget: Widget): Promise<WidgetAnswer> {
  const { config } = widget;
  const ask = widgetAsk(event, (name) => isLane(name) || ledgersOf(config).has(name));
  if (ask.kind === "describe") return { markdown: describe(widget.actions) };
  const notice = await inWords(widget, `it could not ${ask.kind}`, () => noticeFor(ask, widget));
  const overview = await inWords(widget, "what is open could not be read", async () =>
    overviewMarkup(await readOverview({ ...widget }, config), widget.actions ? buttons(endpoint) : {}, {
      ...boundsDefault,
      jobsMax: 50,
    }),
  );
  return whole(ask.theme, markup`${notice}${overview}`);
}

async function inWords(
  { trouble }: Widget,
  what: string,
  make: () => Promise<Markup | undefined>,
): Promise<Markup | undefined> {
  try {
    return await make();
  } catch (error) {
    const name = errorName(error);
    trouble(`widget: ${what}`, name);
    return markup`<p class="notice bad" role="alert">${capital(what)}: ${name}. ${remedyFor(name)}</p>`;
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

async function noticeFor(ask: Exclude<WidgetAsk, { kind: "describe" }>, widget: Widget): Promise<Markup | undefined> {
  switch (ask.kind) {
    case "show":
      return undefined;
    case "fault":
      return said(`Nothing was done: ${ask.message}.`);
    case "cancel":
      return said(widget.actions ? await cancelled(ask.jobId, widget) : switchedOff);
    case "pause":
    case "resume":
      return said(widget.actions ? await paused(ask.kind, ask.name, widget) : switchedOff);
  }
}

const switchedOff =
  "Nothing was done: the widget only shows. To have it cancel, pause and resume, set widgetActions on the construct and deploy.";

function said(text: string): Markup {
  return markup`<p class="notice" role="status">${text}</p>`;
}

async function cancelled(jobId: string, { jobs, clock, config }: Widget): Promise<string> {
  // The client also cancels a job that has yet to come; here it would be a slip of the hand.
  if ((await jobs.read(jobId)) === undefined) return cancelDone(jobId, "unseen");
  const { kind } = await cancel(jobId, jobs, clock, config.replies.ttlDays);
  return cancelDone(jobId, kind);
}

async function paused(kind: "pause" | "resume", name: string, { leases }: Widget): Promise<string> {
  await changeOverride(leases, name, kind === "pause" ? { pausedUntilMs: foreverMs } : resumed);
  return pauseDone(name, kind);
}

/** The console calls the function, with the rights of whoever clicks, once he has confirmed. */
function buttons(endpoint: string): Controls {
  const button = (label: string, confirmation: string, ask: object): Markup =>
    markup`<a class="btn">${label}</a><cwdb-action action="call" display="widget" endpoint="${endpoint}" confirmation="${confirmation}">${JSON.stringify(ask)}</cwdb-action>`;
  return {
    cancel: (jobId) =>
      button("Cancel", `Cancel job ${jobId}? Its reply will be cancelled.`, { action: "cancel", jobId }),
    pause: (name) =>
      button("Pause", `Pause ${name}? Its jobs wait until somebody resumes it.`, { action: "pause", name }),
    resume: (name) => button("Resume", `Resume ${name}?`, { action: "resume", name }),
  };
}

function whole(theme: Theme, inside: Markup): string {
  const style = new Markup(stylesheet(theme));
  return markup`<style>${style}</style><div class="sluice">${inside}</div>`.text;
}

function describe(actions: boolean): string {
  const may = actions
    ? "It can cancel jobs, and pause and resume lanes and limits."
    : "It only reads: set `widgetActions` on the construct to have it cancel, pause and resume.";
  return `## Sluice: what is open, and why
Open jobs with what each does and why it waits, leases with their holders, breakers, pauses, lanes. ${may}
It takes no parameters. Whoever looks at it needs \`lambda:InvokeFunction\` on this function. It shows no prompts and no outputs.`;
}
