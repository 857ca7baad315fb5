import { existsSync, statSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Log, Service } from "@patchbay/functions";
import { readEnvironment } from "./config.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import { describeLoadError } from "@patchbay/loading/load-error";
import { createHumanLog, logLevel } from "./log.ts";
import { paintStatus, printStatus } from "./output.ts";
import { growWithWork, optimizeCode } from "./startup.ts";

export const DEFAULT_FILES = ["service.ts", "functions.ts"];

/** The functions file's absolute path: the named one, or the working folder's default one. */
export function findServiceFile(named: string | undefined): string {
  const file = named ?? DEFAULT_FILES.find((name) => existsSync(name));
  if (file === undefined)
    throw new CommandFailure(
      `No ${DEFAULT_FILES.join(" or ")} in this folder. Name the file that default-exports what defineService() returned.`,
    );
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandFailure(`The file ${path} does not exist.`);
  if (statSync(path).isDirectory())
    throw new CommandFailure(
      `${path} is a folder. Name the file in it that default-exports what defineService() returned.`,
    );
  return path;
}

/** A path, relative to the working folder if it is below it. */
export function nearPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") ? path : near;
}

/** `onFile` gets each file that decides what runs. `log` is the service's log; default: lines for people on stderr. */
interface LoadOptions {
  onFile?: (file: string) => void;
  log?: Log;
}

/** Loads a file's service. Throws a CommandFailure when the file throws, or when it exports no service. */
export async function loadService(path: string, { onFile, log }: LoadOptions = {}): Promise<Service> {
  const { isService } = await import("@patchbay/functions");
  const { setDefaultLog, setServiceFolder } = await import("@patchbay/functions/sources");
  setServiceFolder(dirname(path));
  setDefaultLog(log ?? createHumanLog(() => logLevel(readEnvironment())));
  const { loadOwnersFiles, withPlace } = await import("@patchbay/loading/module-hooks");
  loadOwnersFiles(onFile);
  // The file may compute a lot.
  optimizeCode();
  using _guard = refuseExit(path);
  const imported = import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new CommandFailure(describeLoadError(withPlace(error), path));
  });
  const exports = (await imported) as object;
  growWithWork();
  return serviceOf(exports, isService, path);
}

/** The default export that is a service, or else the only one. CommonJS modules have their exports in `default` too. */
function serviceOf(exports: object, isService: (value: unknown) => value is Service, path: string): Service {
  const members = (value: unknown) => (Object(value) === value && !isService(value) ? (value as object) : {});
  const of = (value: unknown) => (members(value) as { default?: unknown }).default;
  const preferred = [of(exports), of(of(exports))].find(isService);
  if (preferred) return preferred;
  const services = new Set([...Object.values(exports), ...Object.values(members(of(exports)))].filter(isService));
  const [only] = services;
  if (only && services.size === 1) return only;
  const found = only ? `exports ${services.size} services without a default. Add` : `exports no service. Add`;
  throw new CommandFailure(`${path} ${found} \`export default defineService({ ... })\`.`);
}

/**
 * Until disposed, a process that ends fails with a reason, whatever its exit code: a file that calls `process.exit(0)` would
 * otherwise look like a check that succeeded.
 */
export function refuseExit(path: string): Disposable {
  const onExit = (code: number): void => {
    const how =
      code === UNSETTLED
        ? "did not finish loading: a top-level await never settles. Await only what settles"
        : `ended the process (exit code ${code}) before the command was done. Remove process.exit() from it`;
    printStatus(`${paintStatus("red", "error:")} ${path} ${how}.`);
    process.exitCode = 1;
  };
  process.once("exit", onExit);
  return { [Symbol.dispose]: () => void process.off("exit", onExit) };
}

/** Node's exit code for a top-level await that can no longer settle. */
const UNSETTLED = 13;
