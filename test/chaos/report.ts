/** What a run met, so that a boundary that nothing touched is seen. */
import type { Proxies } from "./arena.ts";
import type { History } from "./judge.ts";
import { faultKinds } from "./proxy.ts";
import type { Proxy } from "./proxy.ts";

export function reportOf(name: string, seed: number, proxies: Proxies, { calls, hits, replies }: History): string {
  const killed = hits.filter(({ kind }) => kind === "killed").length;
  const touched = Object.entries(proxies).flatMap(([boundary, proxy]) => linesOf(boundary, proxy));
  return [
    `${name}: CHAOS_SEED=${seed}`,
    `  ${replies.size} jobs answered with ${calls.length} requests; ${killed} workers killed, ${hits.length - killed} frozen`,
    ...touched,
  ].join("\n");
}

function linesOf(boundary: string, proxy: Proxy): readonly string[] {
  return [...proxy.seen].map(([operation, seen]) => {
    const counts = countsOf(proxy, operation).filter(([, count]) => count > 0);
    const broken = counts.map(([kind, count]) => `${count} ${kind}`).join(", ");
    return `  ${`${boundary} ${operation}`.padEnd(40)}${String(seen).padStart(6)}  ${broken}`;
  });
}

function countsOf({ injected }: Proxy, operation: string) {
  return [...faultKinds, "dark" as const].map((kind) => {
    const count = injected.filter((one) => one.operation === operation && one.kind === kind).length;
    return [kind, count] as const;
  });
}
