/** The page with all that it hears: opened before the service, so that no line is missed. */
import type { Service } from "../service.ts";
import { createHistory, jsonLine } from "./history.ts";
import type { History } from "./history.ts";
import { createMeasured } from "./measured.ts";
import type { Measured } from "./measured.ts";
import { openPage } from "./server.ts";
import type { Page } from "./server.ts";
import { watchService } from "./watch.ts";
import type { Watching } from "./watch.ts";

export interface Lookout {
  readonly history: History;
  readonly measured: Measured;
  readonly hear: (line: string) => void;
  open(port: number, service: Service): Promise<Page & { readonly watching: Watching }>;
}

export function createLookout(): Lookout {
  const history = createHistory();
  const measured = createMeasured();
  return {
    history,
    measured,
    hear(text) {
      const line = jsonLine(text);
      if (line === undefined) return;
      history.hear(line);
      measured.hear(line);
    },
    async open(port, service) {
      const watching = watchService(service);
      const page = await openPage(port, { config: service.config, watching, history, measured });
      return { ...page, watching };
    },
  };
}
