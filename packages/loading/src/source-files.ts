import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import type { PathsMatcher, TsConfigResult } from "get-tsconfig";
import { isOwners } from "./owners.ts";

/** What an owner's TypeScript may leave out or write as `.js`: the endings to try, in TypeScript's order. */
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"];
const WRITTEN_AS: Readonly<Record<string, readonly string[]>> = {
  ".js": [".ts", ".tsx"],
  ".jsx": [".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The file that TypeScript means by a path: as written, with another ending, or a folder's index. */
export function probe(path: string): string | undefined {
  const ending = extname(path);
  const withoutEnding = path.slice(0, path.length - ending.length);
  const candidates = [
    path,
    ...(WRITTEN_AS[ending] ?? []).map((written) => withoutEnding + written),
    ...ENDINGS.map((suffix) => path + suffix),
    ...ENDINGS.map((suffix) => join(path, `index${suffix}`)),
  ];
  return candidates.find(isFile);
}

/** The owner's file that `specifier` means in the file `parent`; undefined when Node must resolve it. */
export function findImported(specifier: string, parent: string): string | undefined {
  if (/^\.\.?(\/|$)/.test(specifier) || isAbsolute(specifier)) return probe(resolve(dirname(parent), specifier));
  if (/^(#|[a-z][a-z\d+.-]*:)/i.test(specifier)) return undefined;
  const tsconfig = tsconfigOf(parent);
  const candidates = (tsconfig && pathsOf(tsconfig)?.(specifier)) ?? [];
  return candidates.map(probe).find((path) => path !== undefined && isOwners(path));
}

const require = createRequire(import.meta.url);
/** Loaded with the first tsconfig.json: a service in JavaScript usually has none. */
const reader = () => require("get-tsconfig") as typeof import("get-tsconfig");

const parsed = new Map();
const matchers = new Map<string, PathsMatcher | null>();

/** A file's nearest tsconfig.json. */
export function tsconfigOf(path: string): TsConfigResult | undefined {
  if (!isBelowTsconfig(dirname(path))) return undefined;
  return reader().getTsconfig(dirname(path), "tsconfig.json", parsed) ?? undefined;
}

function isBelowTsconfig(folder: string): boolean {
  if (isFile(join(folder, "tsconfig.json"))) return true;
  return folder !== dirname(folder) && isBelowTsconfig(dirname(folder));
}

function pathsOf(tsconfig: TsConfigResult) {
  if (!matchers.has(tsconfig.path)) matchers.set(tsconfig.path, reader().createPathsMatcher(tsconfig));
  return matchers.get(tsconfig.path);
}

/** The module system that the ending or the nearest package.json asks for. Without a `type` it is CommonJS, as TypeScript reads it. */
export function declaredFormat(path: string): "module" | "commonjs" {
  if (/\.m[jt]s$/.test(path)) return "module";
  if (/\.c[jt]s$/.test(path)) return "commonjs";
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (isFile(file)) return /"type"\s*:\s*"module"/.test(readFileSync(file, "utf8")) ? "module" : "commonjs";
    if (folder === dirname(folder)) return "commonjs";
  }
}
