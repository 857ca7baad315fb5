import { readFileSync } from "node:fs";
import {
  createRequire,
  registerHooks,
  setSourceMapsSupport,
  type LoadHookSync,
  type ResolveHookSync,
} from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isOwners } from "./owners.ts";
import { compile, withPlace } from "./compile.ts";
import { notePlace } from "./load-error.ts";
import { noteResolved } from "./resolved.ts";
import { findImported, tsconfigOf } from "./source-files.ts";

export { withPlace };

let report: (path: string) => void = () => {};
let registered = false;

/** Lets this process import owners' files as they are written; `onFile` gets each file that decides what runs, before it runs. */
export function loadOwnersFiles(onFile: (path: string) => void = () => {}): void {
  report = onFile;
  if (registered) return;
  registered = true;
  setSourceMapsSupport(true);
  registerHooks({ resolve, load });
}

const require = createRequire(import.meta.url);
const isRequire = ({ conditions }: { conditions: readonly string[] }) => conditions.includes("require");

const resolve: ResolveHookSync = (specifier, context, nextResolve) => {
  const address = (path: string) => (isRequire(context) ? path : pathToFileURL(path).href);
  const parent = pathOf(context.parentURL);
  if (parent === undefined || !isOwners(parent)) return nextResolve(specifier, context);
  // The compiler's decorator helpers belong to this package's dependencies.
  if (specifier.startsWith("@oxc-project/runtime/")) return nextResolve(address(require.resolve(specifier)), context);
  const imported = findImported(specifier, parent);
  try {
    const resolved = nextResolve(imported === undefined ? specifier : address(imported), context);
    const path = pathOf(resolved.url);
    if (path !== undefined) noteResolved(specifier, parent, path);
    return resolved;
  } catch (error) {
    const place = placeOfImport(specifier, parent);
    if (error instanceof Error && place) notePlace(error, place);
    throw error;
  }
};

const replaced = new Map<string, string>();

/** From now on this process imports a file as an ES module with other code. */
export function replaceCode(path: string, source: string): void {
  replaced.set(path, source);
}

const load: LoadHookSync = (url, context, nextLoad) => {
  const path = pathOf(url);
  if (path === undefined) return nextLoad(url, context);
  if (isOwners(path)) {
    report(path);
    const tsconfig = tsconfigOf(path);
    if (tsconfig) report(tsconfig.path);
  }
  const other = replaced.get(path);
  if (other !== undefined) return { format: "module", source: other, shortCircuit: true };
  if (path.endsWith(".json") && !isRequire(context))
    return nextLoad(url, { ...context, importAttributes: { ...context.importAttributes, type: "json" } });
  const compiled = isOwners(path) ? compile(path) : undefined;
  return compiled ? { ...compiled, shortCircuit: true } : nextLoad(url, context);
};

function pathOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (url.startsWith("/")) return url;
  return url.startsWith("file:") ? fileURLToPath(url) : undefined;
}

/** Where a file imports `specifier`: Node reports a missing module without the line that asked for it. */
function placeOfImport(specifier: string, path: string) {
  const lines = readFileSync(path, "utf8").split("\n");
  for (const [i, line] of lines.entries()) {
    const [quoted] = /(?:\bfrom|\bimport|\brequire)\b[\s(]*(["'])(.*?)\1/.exec(line) ?? [];
    const column = quoted?.slice(0, -1).endsWith(specifier) ? line.indexOf(specifier) : -1;
    if (column > 0) return { path, line: i + 1, column };
  }
  return undefined;
}
