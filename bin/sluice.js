#!/usr/bin/env node
// As it is written in a checkout; built for those who have installed it, where Node takes no TypeScript.
import { existsSync } from "node:fs";

const written = new URL("../lib/cli/start.ts", import.meta.url);
await import(existsSync(written) ? written.href : "../dist/lib/cli/start.js");
