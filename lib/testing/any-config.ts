import { checkConfig } from "../config.ts";
import type { ConfigInput } from "../config.ts";
import type { Config, ModelConfig } from "../core/config.ts";
import { stepParts } from "../core/config.ts";
import type { Envelope } from "../core/envelope.ts";

type Targets = Map<string, ModelConfig["targets"][string]>;

/** A config that has whatever jobs name, for tests to which it does not matter. */
export class AnyConfig {
  // Maps, for a model may be called `constructor`.
  readonly #models = new Map<string, Targets>();
  readonly #allow = { sqs: new Set<string>(), eventBuses: new Set<string>(), sns: new Set<string>() };
  #config: Config | undefined;

  /** From here on jobs may name what this one does. */
  learn({ model, fallback, replyTo }: Envelope): void {
    for (const name of [model, ...(typeof fallback === "string" ? [] : fallback)]) {
      const { model: alias, target = "test" } = stepParts(name);
      const targets: Targets = this.#models.get(alias) ?? new Map();
      this.#models.set(alias, targets);
      targets.set(target, {
        modelId: "amazon.nova-lite-v1:0",
        region: "us-east-1",
        limit: { start: 100, max: 100 },
        maxTokens: 4_096,
      });
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
      [...this.#models].map(([alias, targets]) => [alias, { targets: Object.fromEntries(targets) }]),
    );
    return (this.#config ??= checkConfig({ models, replies: { allow } }));
  }
}
