import { isJobId } from "../core/envelope.ts";
import { isObject } from "../core/json.ts";
import type { Theme } from "../view/style.ts";

/**
 * What CloudWatch's console asks of a custom widget:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
 */
export type WidgetAsk =
  /** Documentation, for whoever edits the dashboard. */
  | { readonly kind: "describe" }
  | { readonly kind: "show"; readonly theme: Theme }
  | { readonly kind: "cancel"; readonly theme: Theme; readonly jobId: string }
  /** `name`: a lane, or a ledger of the config. */
  | { readonly kind: "pause" | "resume"; readonly theme: Theme; readonly name: string }
  /** `message` says what is wrong and what to do. */
  | { readonly kind: "fault"; readonly theme: Theme; readonly message: string };

/** An event is whatever somebody who may invoke the function has sent. */
export function widgetAsk(event: unknown, isKnown: (name: string) => boolean): WidgetAsk {
  if (!isObject(event)) return { kind: "show", theme: "system" };
  if (event["describe"] === true) return { kind: "describe" };
  const theme = themeOf(event["widgetContext"]);
  const { action, jobId, name } = event;
  if (action === undefined) return { kind: "show", theme };
  if (action === "cancel")
    return isJobId(jobId)
      ? { kind: "cancel", theme, jobId }
      : { kind: "fault", theme, message: "jobId names no job; use the button in the job's row" };
  if (action === "pause" || action === "resume")
    return typeof name === "string" && isKnown(name)
      ? { kind: action, theme, name }
      : {
          kind: "fault",
          theme,
          message: "name is neither a lane nor a limit of the config; use the button beside it",
        };
  return {
    kind: "fault",
    theme,
    message: "action is none of cancel, pause, resume; take it out of the widget's parameters",
  };
}

function themeOf(context: unknown): Theme {
  const theme = isObject(context) ? context["theme"] : undefined;
  return theme === "light" || theme === "dark" ? theme : "system";
}
