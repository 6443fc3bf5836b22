import { hues } from "./hue.ts";
import type { Hue } from "./hue.ts";
import type { Doing } from "../core/why-open.ts";

/** The colours of a theme, as `#rrggbb`; each text stands on its ground at 4.5 : 1 at least. */
export interface Palette {
  readonly ground: string;
  readonly card: string;
  readonly edge: string;
  readonly text: string;
  readonly faint: string;
  readonly link: string;
  readonly trough: string;
  readonly fill: string;
  readonly full: string;
  /** Text and ground of a chip. */
  readonly chips: Readonly<Record<Doing | "plain" | "warn" | "bad", readonly [text: string, ground: string]>>;
  /** Lines and areas of charts. */
  readonly series: Readonly<Record<Hue, string>>;
}

export const light: Palette = {
  ground: "#f7f8fa",
  card: "#ffffff",
  edge: "#d5dae1",
  text: "#16202c",
  faint: "#536171",
  link: "#0b57b0",
  trough: "#e6eaef",
  fill: "#2f74c0",
  full: "#b3261e",
  chips: {
    asking: ["#0a4a8f", "#dcebfb"],
    waiting: ["#6b4700", "#fdeec7"],
    backoff: ["#8a3a00", "#ffe3cf"],
    claimed: ["#39424e", "#e6eaef"],
    requeued: ["#59308f", "#ece1fa"],
    due: ["#0d5447", "#d5f2ea"],
    released: ["#4d5866", "#edf0f3"],
    abandoned: ["#9a1c15", "#fde1df"],
    plain: ["#39424e", "#e6eaef"],
    warn: ["#6b4700", "#fdeec7"],
    bad: ["#9a1c15", "#fde1df"],
  },
  series: {
    blue: "#2f74c0",
    orange: "#d1600f",
    teal: "#0e7c8a",
    violet: "#7b4bb5",
    pink: "#c0418a",
    brown: "#7a4a21",
    grey: "#65717f",
    amber: "#b87a00",
    green: "#2e9468",
    red: "#b3261e",
  },
};

export const dark: Palette = {
  ground: "#0f1620",
  card: "#18222f",
  edge: "#334256",
  text: "#e8edf4",
  faint: "#a3b1c2",
  link: "#86bdff",
  trough: "#2a3748",
  fill: "#5b9fe8",
  full: "#ff8a80",
  chips: {
    asking: ["#bcdcff", "#173a60"],
    waiting: ["#ffdf94", "#4a3500"],
    backoff: ["#ffc9a3", "#54270a"],
    claimed: ["#d3dbe5", "#303d4e"],
    requeued: ["#e0ccff", "#412866"],
    due: ["#aef0dd", "#0f4237"],
    released: ["#c3cdd9", "#2a3748"],
    abandoned: ["#ffc9c4", "#5c1a16"],
    plain: ["#d3dbe5", "#303d4e"],
    warn: ["#ffdf94", "#4a3500"],
    bad: ["#ffc9c4", "#5c1a16"],
  },
  series: {
    blue: "#5b9fe8",
    orange: "#f0924e",
    teal: "#3fb6c6",
    violet: "#b18be8",
    pink: "#ec82b6",
    brown: "#c0946a",
    grey: "#a3b1c2",
    amber: "#e6b93a",
    green: "#4dbd8c",
    red: "#e5484d",
  },
};

function variables({ chips, series, ...colours }: Palette): string {
  return [
    ...Object.entries(colours).map(([name, colour]) => `--${name}:${colour}`),
    ...Object.entries(chips).flatMap(([name, [text, ground]]) => [
      `--${name}-text:${text}`,
      `--${name}-ground:${ground}`,
    ]),
    ...Object.entries(series).map(([hue, colour]) => `--${hue}:${colour}`),
  ].join(";");
}

/** What the reader's system says, or one that somebody else has chosen. */
export type Theme = "system" | "light" | "dark";

export function stylesheet(theme: Theme): string {
  const themes =
    theme === "system"
      ? `.sluice{color-scheme:light dark;${variables(light)}}@media(prefers-color-scheme:dark){.sluice{${variables(dark)}}}`
      : `.sluice{color-scheme:${theme};${variables(theme === "light" ? light : dark)}}`;
  return `${themes}\n${shape}${chipRules()}`;
}

function rule(selector: string, name: string): string {
  return `.sluice ${selector}{color:var(--${name}-text);background:var(--${name}-ground)}`;
}

function chipRules(): string {
  return [
    rule(".chip", "plain"),
    ...Object.keys(light.chips)
      .filter((name) => name !== "plain")
      .map((name) => rule(`.chip.${name}`, name)),
    ...Object.keys(light.chips).map((name) => `.sluice .p-${name}{fill:var(--${name}-text)}`),
    ...hues.map((hue) => `.sluice .h-${hue}{--series:var(--${hue})}`),
  ].join("\n");
}

/** Of everything that is shown; the narrow screen of a telephone has each row of the table as a card. */
const shape = `.sluice{background:var(--ground);color:var(--text);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;padding:4px}
.sluice *{box-sizing:border-box}
.sluice h2{font-size:16px;font-weight:600;margin:20px 0 8px}
.sluice section:first-child h2{margin-top:4px}
.sluice h3{font-size:14px;font-weight:600;margin:0;overflow-wrap:anywhere}
.sluice code{font:12.5px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;overflow-wrap:anywhere;background:none;color:inherit;padding:0}
.sluice p{margin:4px 0}
.sluice a{color:var(--link)}
.sluice .where,.sluice .note,.sluice caption,.sluice .use,.sluice .holders{color:var(--faint)}
.sluice .use b{color:var(--text)}
.sluice .note{margin:8px 2px}
.sluice .empty{background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:14px 16px;max-width:90ch}
.sluice .notice{background:var(--asking-ground);color:var(--asking-text);border-radius:6px;padding:8px 12px}
.sluice .notice.bad{background:var(--bad-ground);color:var(--bad-text)}
.sluice .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.sluice .chip{display:inline-block;border-radius:10px;padding:1px 9px;font-size:12.5px;font-weight:600;white-space:nowrap}
.sluice .states .chip{white-space:normal;margin:1px 0}
.sluice .reasons{list-style:none;margin:0 0 12px;padding:0;display:flex;flex-direction:column;gap:4px}
.sluice .reasons li{display:flex;gap:8px;align-items:baseline}
.sluice .reasons li>b{min-width:3.2em;text-align:right;font-variant-numeric:tabular-nums}
.sluice table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--edge);border-radius:6px;font-variant-numeric:tabular-nums}
.sluice th,.sluice td{text-align:left;vertical-align:top;padding:6px 10px;border-top:1px solid var(--edge);font-weight:400;color:var(--text);background:none}
.sluice thead th,.sluice thead td{border-top:0;color:var(--faint);font-size:12.5px;font-weight:600;white-space:nowrap}
.sluice tbody th{min-width:22ch;max-width:30ch;overflow-wrap:anywhere}
.sluice td.why{min-width:24ch}
.sluice td.short{white-space:nowrap}
.sluice .lane{color:var(--faint);font-size:12.5px}
.sluice .until{white-space:nowrap}
.sluice .late,.sluice .trouble{color:var(--bad-text);background:var(--bad-ground);border-radius:4px;padding:0 5px}
.sluice td.do{text-align:right;white-space:nowrap}
.sluice .cards{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(270px,100%),1fr));gap:10px}
.sluice .cards.lanes{grid-template-columns:repeat(auto-fill,minmax(min(190px,100%),1fr))}
.sluice .card{background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:10px 12px;min-width:0}
.sluice .card .where{font-size:12.5px;margin:0 0 6px;overflow-wrap:anywhere}
.sluice .holders{list-style:none;margin:6px 0 0;padding:0;font-size:12.5px;overflow-wrap:anywhere}
.sluice .holders li{margin-top:3px}
.sluice .bar{display:block;width:100%;height:8px;border-radius:4px;margin:4px 0}
.sluice .trough{fill:var(--trough)}.sluice .fill{fill:var(--fill)}.sluice .full{fill:var(--full)}.sluice .mark{fill:var(--text)}
.sluice dl{margin:0}
.sluice dl div{display:flex;justify-content:space-between;gap:8px}
.sluice dt{color:var(--faint)}.sluice dd{margin:0;font-variant-numeric:tabular-nums;font-weight:600}
.sluice .charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(330px,100%),1fr));gap:10px}
.sluice .chart{background:var(--card);border:1px solid var(--edge);border-radius:6px;padding:10px 12px;margin:0;min-width:0}
.sluice .chart figcaption{font-weight:600}
.sluice .chart svg{display:block;width:100%;height:auto}
.sluice .chart text{font-size:10px;fill:var(--faint)}.sluice .chart text.end{text-anchor:end}
.sluice .grid{stroke:var(--edge);fill:none}
.sluice polyline{fill:none;stroke:var(--series);stroke-width:1.8;stroke-linejoin:round}
.sluice polyline.bound{stroke-dasharray:5 4;stroke-width:1.3}
.sluice polyline.tail{stroke-dasharray:.1 4.2;stroke-width:2.4;stroke-linecap:round}
.sluice circle,.sluice .chart rect{fill:var(--series)}
.sluice .chart rect{stroke:var(--card);stroke-width:.6}
.sluice .legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;margin:4px 0 0;padding:0;font-size:12.5px;color:var(--faint)}
.sluice .legend i{display:inline-block;width:12px;height:0;border-top:3px solid var(--series);vertical-align:middle;margin-right:5px}
.sluice .legend i.bound{border-top-style:dashed;border-top-width:2px}
.sluice .legend i.tail{border-top-style:dotted}
.sluice .legend i.area{width:10px;height:10px;border:0;border-radius:2px;background:var(--series);vertical-align:-1px}
.sluice .legend b{color:var(--text);font-weight:600;font-variant-numeric:tabular-nums}
.sluice svg.phases{display:block;width:100%;height:22px;border-radius:4px;margin:8px 0}
.sluice .legend.phases{gap:6px 14px}
.sluice .life{list-style:none;margin:14px 0;padding:0}
.sluice .life li{display:flex;gap:12px;padding:4px 0;border-top:1px solid var(--edge)}
.sluice .life time{flex:0 0 5.5em;text-align:right;color:var(--faint);font-variant-numeric:tabular-nums}
.sluice .life span{overflow-wrap:anywhere}
@media(max-width:700px){.sluice table.jobs thead{display:none}.sluice table.jobs,.sluice table.jobs tbody,.sluice table.jobs tr,.sluice table.jobs th,.sluice table.jobs td{display:block;width:100%;max-width:none}.sluice table.jobs tr{border-top:1px solid var(--edge);padding:8px 10px}.sluice table.jobs tr:first-child{border-top:0}.sluice table.jobs th,.sluice table.jobs td{border:0;padding:2px 0;min-width:0}.sluice table.jobs tbody th{min-width:0}.sluice table.jobs td[data-head]{display:flex;gap:8px}.sluice table.jobs td[data-head]::before{content:attr(data-head);color:var(--faint);flex:0 0 5.5em}.sluice td.why{display:block!important}.sluice td.why::before{display:none}.sluice td.do{text-align:left}.sluice td.short{white-space:normal}.sluice .reasons li{display:block;border-left:3px solid var(--edge);padding-left:8px}.sluice .reasons li>b{display:inline;margin-right:4px}.sluice .reasons li>span:last-child{display:block}}
`;
