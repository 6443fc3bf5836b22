import { replyStoreHandler } from "./handlers/reply-store.ts";

export const handler = replyStoreHandler();
