/** What somebody's own stack imports. */
export { ConfigError, defineConfig } from "../lib/config.ts";
export type { ConfigInput } from "../lib/config.ts";
export type { Lane } from "../lib/core/lane.ts";
export { addOutputs } from "./outputs.ts";
export type { Feed, FeedOptions } from "./feeds.ts";
export type { FunctionName, SluiceProps } from "./sluice-props.ts";
export { Sluice } from "./sluice.ts";
