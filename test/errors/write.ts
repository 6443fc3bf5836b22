/** `npm run errors`. */
import { writeFileSync } from "node:fs";
import { documentOf, tellAll } from "./document.ts";

const file = new URL("../../lib/ERRORS.md", import.meta.url);
writeFileSync(file, documentOf(await tellAll()));
