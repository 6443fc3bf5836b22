import { checkConfig } from "../config.ts";
import type { ConfigInput } from "../config.ts";
import type { Config, ModelConfig } from "../core/config.ts";
import { stepParts } from "../core/config.ts";
import type { Envelope } from "../core/envelope.ts";

/** A config that has whatever jobs name, for tests to which it does not matter. */
export class AnyConfig {
  readonly #models: Record<string, Record<string, ModelConfig["targets"][string]>> = {};
  readonly #allow = { sqs: new Set<string>(), eventBuses: new Set<string>(), sns: new Set<string>() };
  #config: Config | undefined;

  /** From here on jobs may name what this one does. */
  learn({ model, fallback, replyTo }: Envelope): void {
    for (const name of [model, ...(typeof fallback === "string" ? [] : fallback)]) {
      const { model: alias, target = "test" } = stepParts(name);
      const targets = (this.#models[alias] ??= {});
      targets[target] ??= {
        modelId: "amazon.nova-lite-v1:0",
        region: "us-east-1",
        limit: { start: 100, max: 100 },
        maxTokens: 4_096,
      };
    }
    if (replyTo?.kind === "sqs") this.#allow.sqs.add(replyTo.queueUrl);
    if (replyTo?.kind === "eventBus") this.#allow.eventBuses.add(replyTo.name);
    if (replyTo?.kind === "sns") this.#allow.sns.add(replyTo.topicArn);
    this.#config = undefined;
  }

  get config(): Config {
    const { sqs, eventBuses, sns } = this.#allow;
    const allow = { sqs: [...sqs], eventBuses: [...eventBuses], sns: [...sns], taskTokens: true };
    const models: ConfigInput["models"] = Object.fromEntries(
      Object.entries(this.#models).map(([alias, targets]) => [alias, { targets }]),
    );
    return (this.#config ??= checkConfig({ models, replies: { allow } }));
  }
}
