import { deadLettersHandler } from "./handlers/dead-letters.ts";

export const handler = deadLettersHandler();
