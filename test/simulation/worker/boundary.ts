import type { ModelAnswer, ModelRequest, World } from "../../../lib/ports.ts";
import { noUsage } from "../../../lib/core/attempt.ts";
import type { Noted } from "../../../lib/core/noted.ts";
import { never } from "./container.ts";
import type { Container } from "./container.ts";
import { clientMsMax, faultMs, isModelCall, isModelKind, providerError, slowPart, thrown } from "./faults.ts";
import type { FaultKind } from "./faults.ts";
import type { Call } from "./history.ts";
import type { Stage } from "./stage.ts";

/**
 * The World as a container sees it: every method of every port is a wire on which anything may go wrong. It knows no port
 * by name but time, telemetry and Bedrock, so that whatever is added to the World is behind it too.
 */
export function boundary(world: World, container: Container, stage: Stage): World {
  const own: Readonly<Record<string, unknown>> = {
    clock: container.clock,
    telemetry: {
      note: (event: Noted) => {
        if (!container.isDead) stage.see({ kind: "noted", container: container.name, event });
      },
    },
  };
  return new Proxy(world, {
    get: (ports, port) => {
      if (typeof port !== "string") return Reflect.get(ports, port);
      return own[port] ?? wired(port, Reflect.get(ports, port), container, stage);
    },
  });
}

function wired(port: string, methods: unknown, container: Container, stage: Stage): unknown {
  if (typeof methods !== "object" || methods === null) return methods;
  return new Proxy(methods, {
    get: (target, method) => {
      const verb: unknown = Reflect.get(target, method);
      if (typeof verb !== "function" || typeof method !== "string") return verb;
      const name = `${port}.${method}`;
      const act: Act = (args) => Reflect.apply(verb, target, args) as unknown;
      return (...args: readonly unknown[]) => cross(name, args, container, stage, act);
    },
  });
}

type Act = (args: readonly unknown[]) => unknown;

/** One call from the code to the wire, over it and back. */
async function cross(
  name: string,
  args: readonly unknown[],
  container: Container,
  stage: Stage,
  act: Act,
): Promise<unknown> {
  if (container.isDead) return never;
  const call = stage.called(name, args, container);
  const has = (kind: FaultKind) => call.met.includes(kind);
  if (has("crash-before")) return stage.crash(container);
  if (has("freeze-before")) {
    stage.freeze(container);
    await container.awake();
  }

  let [answer, error]: [unknown, unknown] = [undefined, undefined];
  try {
    answer = await (isModelCall(name) ? askModel(call, container, stage, act) : send(call, stage, act));
  } catch (caught) {
    error = caught ?? new Error("rejected with nothing");
  }
  if (has("crash-after")) return stage.crash(container);
  if (has("freeze-after")) stage.freeze(container);
  await container.awake();
  // Thawed after its client had gone: nobody reads the answer any more.
  const [, signal] = args;
  if (name === "models.ask" && signal instanceof AbortSignal && signal.aborted) error ??= signal.reason;
  stage.ended(call, error === undefined, answer);
  if (error !== undefined) throw error;
  return answer;
}

/** A request that a client may send again, whether or not the service has heard it. */
async function send(call: Call, stage: Stage, act: Act): Promise<unknown> {
  const kind = stage.isDown(call) ? "refused" : call.met.find((met) => met in wireFaults);
  const apply = () => stage.apply(call, async () => await act(call.args));
  const fault = kind === undefined ? undefined : wireFaults[kind];
  if (fault !== undefined) return await fault(call, stage, apply);
  await stage.wire();
  const answer = await apply();
  await stage.wire();
  return answer;
}

type WireFault = (call: Call, stage: Stage, apply: () => Promise<unknown>) => Promise<unknown>;

const wireFaults: Readonly<Partial<Record<FaultKind, WireFault>>> = {
  refused: async (_call, stage) => {
    await stage.wire();
    throw thrown("refused");
  },
  throttled: async (_call, stage) => {
    await stage.wire();
    throw thrown("throttled");
  },
  lost: async (_call, stage, apply) => {
    await stage.wire();
    await apply();
    await stage.wire();
    throw thrown("lost");
  },
  slow: async ({ name }, stage, apply) => {
    const partMs = clientMsMax(name) * slowPart;
    await stage.wire(partMs);
    const answer = await apply();
    await stage.wire(partMs);
    return answer;
  },
  /** The first answer was lost on the way, and the client has sent it again by itself. */
  twice: async (_call, stage, apply) => {
    await stage.wire();
    await apply();
    await stage.wire();
    const answer = await apply();
    await stage.wire();
    return answer;
  },
  /** A copy on a slow way arrives when all is long over. */
  echo: async (_call, stage, apply) => {
    await stage.wire();
    const answer = await apply();
    stage.later(faultMs.echo, apply);
    await stage.wire();
    return answer;
  },
  late: async ({ name }, stage, apply) => {
    stage.later(faultMs.late, apply);
    await stage.wire(clientMsMax(name));
    throw thrown("late");
  },
  hang: async ({ name }, stage) => {
    await stage.wire(clientMsMax(name));
    throw thrown("hang");
  },
};

/** Exactly one request, which ends early when its client goes. */
async function askModel(call: Call, container: Container, stage: Stage, act: Act): Promise<unknown> {
  const [request, signal] = call.args;
  if (!isRequest(request) || !(signal instanceof AbortSignal)) throw new Error(`${call.name} is no call of Models`);
  const client = container.clientOf(signal);
  const gone = client.signal;
  try {
    if (call.name === "models.ask") return await ask(call, request, gone, container, stage, act);
    const kind = modelFault(call);
    await stage.pause(kind === "slow" ? 1_500 : kind === "hang" ? Infinity : 2, gone);
    const isFailure = kind !== undefined && kind !== "slow";
    return isFailure ? { kind: "unknown", name: providerError(kind, "").name } : await act([request, gone]);
  } catch (error) {
    if (call.name === "models.ask") throw error;
    return { kind: "unknown", name: "Aborted" };
  } finally {
    client.close();
  }
}

async function ask(
  call: Call,
  request: ModelRequest,
  gone: AbortSignal,
  container: Container,
  stage: Stage,
  act: Act,
): Promise<unknown> {
  const kind = modelFault(call);
  const failed = (failing: FaultKind): ModelAnswer => ({
    kind: "failed",
    error: providerError(failing, JSON.stringify(request.params)),
    usage: noUsage,
  });
  await stage.pause(2, gone);
  if (kind === "refused") return failed(kind);

  await stage.asked(call, request, container);
  let outcome = "aborted";
  try {
    if (kind === "hang") await stage.pause(Infinity, gone);
    const isFailure = kind !== undefined && kind !== "lost" && kind !== "slow";
    if (isFailure) await stage.pause(400, gone);
    const answer = isFailure ? failed(kind) : await act([request, gone]);
    if (kind === "slow") await stage.pause(20_000, gone);
    outcome = isFailure ? kind : "answered";
    return kind === "lost" ? failed(kind) : answer;
  } finally {
    stage.left(call, outcome);
  }
}

/** What goes wrong with the request itself, if anything does. */
function modelFault({ met }: Call): FaultKind | undefined {
  return met.find((kind) => isModelKind(kind));
}

function isRequest(value: unknown): value is ModelRequest {
  return typeof value === "object" && value !== null && "step" in value && "params" in value;
}
