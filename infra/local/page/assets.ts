/** The page's own looks and its few lines of script; both are files of their own, so that the policy allows nothing inline. */
import { stylesheet } from "../../../lib/view/style.ts";

export const styles = `${stylesheet("system")}
body{margin:0}
.sluice.page{min-height:100vh;padding:0}
.sluice.page>*{max-width:1240px;margin-left:auto;margin-right:auto;padding-left:16px;padding-right:16px}
.sluice header{display:flex;flex-wrap:wrap;gap:6px 18px;align-items:center;padding-top:14px;padding-bottom:6px}
.sluice h1{font-size:18px;margin:0;font-weight:700}
.sluice h1 a{color:inherit;text-decoration:none}
.sluice header form{margin-left:auto;display:flex;gap:6px;min-width:0}
.sluice input{font:inherit;color:var(--text);background:var(--card);border:1px solid var(--faint);border-radius:5px;padding:4px 8px;min-width:0;width:17em;max-width:100%}
.sluice button{font:inherit;font-size:13px;color:var(--link);background:var(--card);border:1px solid var(--faint);border-radius:5px;padding:3px 10px;cursor:pointer}
.sluice button:hover{background:var(--trough)}
.sluice :focus-visible{outline:2px solid var(--link);outline-offset:2px}
.sluice form{display:inline;margin:0}
.sluice main{padding-bottom:40px}
.sluice .skip{position:absolute;left:-9999px}.sluice .skip:focus{position:static}
.sluice #said:empty{display:none}
.sluice dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:8px 0}
.sluice dl.facts dd{font-weight:400;overflow-wrap:anywhere}
.sluice .recent{list-style:none;padding:0;margin:0;display:flex;flex-wrap:wrap;gap:6px 16px}
.sluice .recent li{overflow-wrap:anywhere;min-width:0}
@media(max-width:700px){.sluice header form{margin-left:0;width:100%}.sluice header input{flex:1}}
`;

/** Asks for the page's inside once a second, while somebody looks; without it the page is read again by hand. */
export const script = `"use strict";
const main = document.querySelector("main");
const said = document.querySelector("#said");
const everyMs = 1000;
let timer;
function keep(html) {
  const focused = document.activeElement && document.activeElement.closest("[data-key]");
  const key = focused && focused.dataset.key;
  main.innerHTML = html;
  if (key) { const again = main.querySelector('[data-key="' + CSS.escape(key) + '"]'); if (again) again.focus({ preventScroll: true }); }
}
async function refresh() {
  clearTimeout(timer);
  let nextMs = everyMs;
  if (!document.hidden) {
    const selection = getSelection();
    const isReading = selection && !selection.isCollapsed && main.contains(selection.anchorNode);
    try {
      const at = new URL(location.href);
      at.searchParams.set("part", "main");
      const response = isReading ? undefined : await fetch(at);
      if (response && response.ok) { keep(await response.text()); if (said.dataset.lost) { said.textContent = ""; delete said.dataset.lost; } }
    } catch {
      said.dataset.lost = "yes";
      said.textContent = "The service has ended, or is being started again. This is what was seen last.";
      nextMs = 3000;
    }
  }
  timer = setTimeout(refresh, nextMs);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  event.preventDefault();
  const ask = form.dataset.confirm;
  if (ask && !confirm(ask)) return;
  try {
    const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { accept: "text/plain" } });
    said.textContent = await response.text();
  } catch {
    said.textContent = "The service could not be reached; nothing was done.";
  }
  refresh();
});
timer = setTimeout(refresh, everyMs);
`;
