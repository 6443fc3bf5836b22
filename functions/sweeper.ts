import { sweeperHandler } from "./handlers/sweeper.ts";

export const handler = sweeperHandler();
