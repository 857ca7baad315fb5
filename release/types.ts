import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

const PACKAGES = fileURLToPath(new URL("../packages", import.meta.url));

/** Where each package's tsconfig.json puts the declarations of all its modules. */
const COMPILED = ".types";

/** Types of an optional peer that a package publishes as its own: they are needed also where the peer is not installed. */
const EMBEDDED: Record<string, Record<string, string>> = {
  "@patchbay/functions": { "@patchbay/control-plane": "engine/.types/ports/model-provider.d.ts" },
};

interface PackageJson {
  name: string;
  private?: boolean;
  exports: Record<string, string>;
  publishConfig?: { exports: Record<string, { types: { default: string } }> };
}

const readPackage = (name: string): PackageJson =>
  JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")) as PackageJson;

/**
 * Copies the declarations that the package's entries reach into `dist`, those of private packages into `dist/private`, each also as
 * CommonJS. The other modules' would only be read by mistake.
 */
export function copyTypes(own: string): void {
  const { name, publishConfig } = readPackage(own);
  const dist = join(PACKAGES, own, "dist");
  const copied = new Set<string>();
  /** `path`: below the folder of all packages. */
  const copy = (path: string): string => {
    const to = placeOf(path);
    if (copied.has(to)) return to;
    copied.add(to);
    const text = withoutInternal(path, readFileSync(join(PACKAGES, path), "utf8")).replaceAll(
      IMPORTED,
      (whole, before: string, id: string) => {
        if (id.startsWith(".")) {
          copy(join(dirname(path), declaration(id)));
          return whole;
        }
        const source = EMBEDDED[name]?.[id] ?? sourceOf(id);
        if (source === undefined) return whole;
        const target = relative(dirname(to), copy(source)).replace(/\.d\.ts$/, ".js");
        return `${before}"${target.startsWith(".") ? target : `./${target}`}"`;
      },
    );
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text);
    writeFileSync(to.replace(/ts$/, "cts"), asCommonJs(text));
    return to;
  };
  const placeOf = (path: string): string => {
    const [of = "", , ...rest] = path.split("/");
    return join(dist, ...(of === own ? [] : ["private", of]), ...rest);
  };
  for (const { types } of Object.values(publishConfig!.exports))
    copy(join(own, COMPILED, types.default.replace("./dist/", "")));
}

/** Libraries without declarations for CommonJS, of which declarations here only import types. */
const MODULES_ONLY = ["jose"];

/** A copy for modules that `require` the package: the compiler takes a declaration for what its file name says. */
const asCommonJs = (text: string): string =>
  text.replaceAll(IMPORTED, (whole, before: string, id: string) => {
    if (MODULES_ONLY.includes(id)) return `${whole} with { "resolution-mode": "import" }`;
    return id.startsWith(".") ? `${before}"${id.replace(/\.[jt]s$/, ".cjs")}"` : whole;
  });

/** The module of an import, an export or an `import()` type. */
const IMPORTED = /((?:\bfrom|\bimport) ?\(?)"([^"]+)"/g;

/**
 * The text without what is `@internal`. The compiler removes it from published packages, but private ones compile against it.
 */
function withoutInternal(file: string, text: string): string {
  const { program, comments } = parseSync(file, text);
  const internal = comments.filter(({ value }) => value.includes("@internal"));
  /** The end of each statement and member, by its start. */
  const ends = new Map<number, number>();
  const collect = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, body, members } = node as { type?: string; body?: unknown; members?: unknown };
    for (const item of [body, members].flatMap((list) => (Array.isArray(list) ? (list as Span[]) : [])))
      ends.set(item.start, item.end);
    if (type !== undefined || Array.isArray(node)) for (const child of Object.values(node)) collect(child);
  };
  collect(program);
  const rest = internal.toReversed().reduce((shown, { start, end }) => {
    const next = end + /^\s*/.exec(text.slice(end))![0].length;
    const until = ends.get(next);
    if (until === undefined) throw new Error(`${file}: @internal is not before a declaration or a member.`);
    return shown.slice(0, start).trimEnd() + shown.slice(until);
  }, text);
  return internal.length === 0 ? text : withoutUnusedImports(file, rest);
}

/** Modules of names that only removed declarations use would be copied, too. */
function withoutUnusedImports(file: string, text: string): string {
  const unused = parseSync(file, text).program.body.filter(
    (statement) =>
      statement.type === "ImportDeclaration" &&
      statement.specifiers.every(({ local }) => text.match(new RegExp(`\\b${local.name}\\b`, "g"))!.length === 1),
  );
  return unused.toReversed().reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text);
}

interface Span {
  start: number;
  end: number;
}

const declaration = (id: string): string => id.replace(/\.[jt]s$/, ".d.ts");

/** The compiled module behind an import of a private package; undefined for every other import. */
function sourceOf(id: string): string | undefined {
  const [, of, entry] = /^@patchbay\/([\w-]+)(\/.+)?$/.exec(id) ?? [];
  if (of === undefined) return undefined;
  const { private: isPrivate, exports } = readPackage(of);
  if (isPrivate !== true) return undefined;
  const wanted = `.${entry ?? ""}`;
  for (const [pattern, file] of Object.entries(exports)) {
    const [before = "", after] = pattern.split("*");
    const matches = after === undefined ? pattern === wanted : wanted.startsWith(before);
    if (matches)
      return join(of, declaration(file.replace("./src", COMPILED).replace("*", wanted.slice(before.length))));
  }
  throw new Error(`@patchbay/${of} does not export ${wanted}.`);
}
