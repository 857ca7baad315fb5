import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Service } from "@patchbay/functions";
import { CommandFailure } from "./failure.ts";
import { paintStatus, printStatus } from "./output.ts";

export const DEFAULT_FILES = ["service.ts", "functions.ts"];

/** The absolute path of the file with the functions: the named one, or the default one of the working folder. */
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

/** Loads the service of a file. Throws a CommandFailure when the file throws, or when its default export is not a service. */
export async function loadService(path: string): Promise<Service> {
  const { isService } = await import("@patchbay/functions");
  using _guard = refuseExit(path);
  const imported = import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new CommandFailure(describeLoadError(error, path));
  });
  const exports = (await imported) as { default?: unknown };
  if (isService(exports.default)) return exports.default;
  const found = "default" in exports ? "its default export is something else" : "it has no default export";
  throw new CommandFailure(`${path} must \`export default defineService({ ... })\`, but ${found}.`);
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

/** Why a file did not load, for people: the error and its position in the owner's own code. */
export function describeLoadError(error: unknown, path: string): string {
  if (error instanceof CommandFailure) return error.message;
  if (!(error instanceof Error)) return `${path} threw ${String(error)} while it was loaded.`;
  const stack = error.stack ?? "";
  const place = placeIn(stack);
  const excerpt = error instanceof SyntaxError ? excerptOf(stack) : "";
  return `${place ?? path}: ${error.name}: ${error.message}${excerpt && `\n${excerpt}`}`;
}

/** The first position in the stack outside Node, this package and dependencies. */
function placeIn(stack: string): string | undefined {
  const places = stack.matchAll(/(?:file:\/\/)?(\/[^\s:)]+):(\d+(?::\d+)?)/g);
  for (const [, path = "", position] of places) {
    const own = path.startsWith(workspace) && /^[^/]+\/(src|dist)\//.test(path.slice(workspace.length));
    if (!own && !path.includes("/node_modules/")) return `${decodeURI(path)}:${position}`;
  }
  return undefined;
}

/** The folder of this package and, in a workspace, its siblings: their frames do not help an owner. */
const workspace = fileURLToPath(new URL("../../", import.meta.url));

/** The source line and the marks below it that Node prints before a syntax error. */
function excerptOf(stack: string): string {
  const lines = stack.split("\n");
  const marks = lines.findIndex((line) => /^\s*\^+\s*$/.test(line));
  return marks > 0 ? lines.slice(marks - 1, marks + 1).join("\n") : "";
}
