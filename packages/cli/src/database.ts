import { join } from "node:path";

export interface DatabaseOptions {
  database?: string;
  dataDir: string;
}

/** The database that `--database` names, else the embedded one in the data folder. */
export function databaseUrl({ database, dataDir }: DatabaseOptions): string {
  return database ?? `sqlite:${join(dataDir, "patchbay.db")}`;
}

/** True of a database that one process serves at a time. */
export function isEmbedded(options: DatabaseOptions): boolean {
  return !/^postgres(ql)?:/.test(databaseUrl(options));
}

/** The address as it may be shown; a password may also stand among its options. */
export function withoutPassword(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return url;
  if (parsed.password !== "") parsed.password = "***";
  if (parsed.searchParams.has("password")) parsed.searchParams.set("password", "***");
  return parsed.password === "" && !parsed.searchParams.has("password") ? url : parsed.href;
}
