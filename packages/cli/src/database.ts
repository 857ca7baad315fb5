import { join } from "node:path";

export interface DatabaseOptions {
  database?: string;
  dataDir: string;
}

/** The database that `--database` names, else the embedded one in the data folder. */
export function databaseUrl({ database, dataDir }: DatabaseOptions): string {
  return database ?? `sqlite:${join(dataDir, "patchbay.db")}`;
}
