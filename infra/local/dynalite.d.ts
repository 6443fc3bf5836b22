declare module "dynalite" {
  import type { Server } from "node:http";

  /** DynamoDB in process, on LevelDB. Times are how long a table stays in a transitional state. */
  export default function dynalite(options: {
    readonly createTableMs: number;
    readonly deleteTableMs: number;
    readonly updateTableMs: number;
    /** Absent: in memory. */
    readonly path?: string;
  }): Server;
}
