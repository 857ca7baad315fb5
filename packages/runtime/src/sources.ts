export { canonicalJson } from "@patchbay/kit";
export { defaultLog, setDefaultLog } from "./log.ts";
export { createBackoff } from "./connection/backoff.ts";
export { readForeignSchema } from "./schema/raw.ts";
export { dropUnlisted } from "./schema/unlisted.ts";

/**
 * Servers whose tools are service functions: `@patchbay/mcp` and `@patchbay/openapi` register them here, and the commands
 * `patchbay pin` and `patchbay access` find them.
 */
export interface FunctionSource {
  /** What it is, such as `API`. Default: `MCP server`. */
  readonly kind?: string;
  /** The name that its owner gave it. */
  readonly name: string;
  /** Path to the file with the accepted definitions. Undefined: they are not compared with any. */
  readonly lockFile: string | undefined;
  /** How the server differs from the lock file. Empty if it does not, and without a lock file. */
  drift(): readonly Drift[];
  /** Accepts what the server offers now: writes the lock file. */
  pin(): Promise<void>;
}

/** One difference between a server and its lock file. */
export interface Drift {
  /** Names the server and the tool. */
  readonly sentence: string;
  /** The members that differ, as the lock file has them. Undefined for a new tool. */
  readonly before?: Readonly<Record<string, unknown>>;
  /** The same members, as the server offers them. Undefined for a removed tool. */
  readonly after?: Readonly<Record<string, unknown>>;
}

/** Registered globally, because a service and the command that loads it may have two copies of this package. */
const REGISTRY = Symbol.for("patchbay.function-sources");
const FOLDER = Symbol.for("patchbay.service-folder");

interface Shared {
  [REGISTRY]?: FunctionSource[];
  [FOLDER]?: string;
}
const shared = globalThis as Shared;

/** The servers in the services that this process has loaded, in registration order. */
export const functionSources = (): readonly FunctionSource[] => shared[REGISTRY] ?? [];

/** Adds a server. The returned function removes it. */
export function addFunctionSource(source: FunctionSource): () => void {
  const sources = (shared[REGISTRY] ??= []);
  sources.push(source);
  return () => void sources.splice(sources.indexOf(source), 1);
}

/** The folder with the service file that a command has loaded. Undefined if the program loads its service itself. */
export const serviceFolder = (): string | undefined => shared[FOLDER];

/** Sets the service file's folder, to which the service's own files are relative. */
export function setServiceFolder(folder: string): void {
  shared[FOLDER] = folder;
}
