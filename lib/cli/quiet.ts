/** So long without a reply is worth a word: a lane may be paused, or a target dead. */
const quietMs = 30_000;

/** Called again and again with how many jobs are open; tells once for each time that none of them ends for a while. */
export function quietTeller(nowMs: () => number, tell: (what: string) => void): (open: number) => void {
  let known = 0;
  let sinceMs = nowMs();
  let told = false;
  return (open) => {
    if (open !== known) {
      [known, sinceMs, told] = [open, nowMs(), false];
      return;
    }
    if (told || open === 0 || nowMs() - sinceMs < quietMs) return;
    told = true;
    tell(`no reply for ${quietMs / 1_000} s; npx sluice jobs says why each job waits`);
  };
}
