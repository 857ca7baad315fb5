import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CommandFailure, codeOf } from "@patchbay/loading/failure";

export interface DatabaseOptions {
  database?: string;
  dataDir: string;
}

/** The database that `--database` names, else the embedded one in the data folder. */
export const databaseUrl = ({ database, dataDir }: DatabaseOptions): string =>
  database ?? `sqlite:${join(dataDir, "patchbay.db")}`;

/** True for SQLite, which one process serves at a time. */
export const isEmbedded = (options: DatabaseOptions): boolean => !/^postgres(ql)?:/.test(databaseUrl(options));

/** The address without its password, which may also be a query parameter. */
export function withoutPassword(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return url;
  if (parsed.password !== "") parsed.password = "***";
  if (parsed.searchParams.has("password")) parsed.searchParams.set("password", "***");
  return parsed.password === "" && !parsed.searchParams.has("password") ? url : parsed.href;
}

/** The file of an embedded database; undefined for Postgres and for one in memory. */
export function databaseFile(options: DatabaseOptions): string | undefined {
  const [, file] = /^sqlite:(?!:memory:)(.+)$/s.exec(databaseUrl(options)) ?? [];
  return file === undefined ? undefined : resolve(file);
}

/** Throws with the path, the reason and a fix when an embedded database cannot be opened, or is missing and `mayCreate` is false. */
export function requireDatabase(options: DatabaseOptions, { mayCreate }: { mayCreate: boolean }): void {
  const file = databaseFile(options);
  if (file === undefined) return;
  const fault = existsSync(file) ? fileFault(file) : undefined;
  const reason = fault ?? folderFault(dirname(file));
  if (reason !== undefined) throw new CommandFailure(reason);
  if (!mayCreate && !existsSync(file))
    throw new CommandFailure(
      `No database at ${file}. Check --data-dir and --database; \`patchbay serve\`, \`orgs create\` and \`agents create\` create one.`,
    );
}

const OTHER = "or choose another with --data-dir DIR or --database sqlite:PATH.";
const MAGIC = "SQLite format 3\0";

function fileFault(file: string): string | undefined {
  if (statSync(file).isDirectory())
    return `${file} is a folder, not a database. Name a file with --database sqlite:PATH.`;
  const denied = deniedCode(file, constants.R_OK | constants.W_OK);
  if (denied !== undefined)
    return `The database ${file} cannot be read and written by this user (${denied}). Change its owner, ${OTHER}`;
  const start = beginningOf(file, MAGIC.length);
  return start === "" || start === MAGIC ? undefined : `${file} is not a SQLite database. Restore a backup, ${OTHER}`;
}

/** Why a folder cannot hold a database; undefined when it can, or can be created. */
export function folderFault(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return `${folder} is a file, not a folder. Move it, ${OTHER}`;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return folderFault(dirname(folder));
    return `${folder} cannot be reached by this user (${code}). Change who may enter the folders above it, ${OTHER}`;
  }
  const denied = deniedCode(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  return (
    denied && `The folder ${folder} cannot be read and written by this user (${denied}). Change its owner, ${OTHER}`
  );
}

function deniedCode(path: string, mode: number): string | undefined {
  try {
    accessSync(path, mode);
    return undefined;
  } catch (error) {
    return codeOf(error) ?? "denied";
  }
}

/** Only for a database that this process has not opened: closing any file handle drops the process's locks on that file. */
function beginningOf(file: string, sizeBytes: number): string {
  const [opened, bytes] = [openSync(file, "r"), Buffer.alloc(sizeBytes)];
  try {
    return bytes.toString("latin1", 0, readSync(opened, bytes, 0, sizeBytes, 0));
  } finally {
    closeSync(opened);
  }
}
