/** What a button has done, for whoever pressed it: on the dashboard's widget and on the local page. */

/** `unseen`: no worker has seen such a job. */
export function cancelDone(jobId: string, outcome: "cancelled" | "asked" | "ended" | "unseen"): string {
  switch (outcome) {
    case "cancelled":
      return `Job ${jobId} is cancelled.`;
    case "asked":
      return `Job ${jobId} is running: its worker was asked to cancel it, and does within 10 s.`;
    case "ended":
      return `Nothing was done: job ${jobId} had ended before.`;
    case "unseen":
      return `Nothing was done: no worker has seen a job ${jobId}.`;
  }
}

/** `name`: of a lane or a limit. */
export function pauseDone(name: string, asked: "pause" | "resume"): string {
  return asked === "pause"
    ? `${name} is paused until it is resumed; workers hear of it within 5 s. What runs there runs on.`
    : `${name} is resumed; workers hear of it within 5 s.`;
}
