#!/usr/bin/env node
// Built for those who have installed it, where Node takes no TypeScript; as it is written in a checkout.
import { existsSync } from "node:fs";

const built = new URL("../dist/cli/start.js", import.meta.url);
await import(existsSync(built) ? built.href : "../lib/cli/start.ts");
