import { readFileSync } from "node:fs";
import { createRequire, SourceMap, type SourceMapPayload } from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { compileFunction } from "node:vm";
import type { default as Remapping, SourceMapInput } from "@jridgewell/remapping";
import type { OxcError, TransformOptions } from "oxc-transform";
import { hasPlace, notePlace, originalPlace, rememberMap } from "./load-error.ts";
import { declaredFormat, findImported, tsconfigOf } from "./source-files.ts";

export interface Compiled {
  format: "module" | "commonjs";
  /** JavaScript with an inline source map. */
  source: string;
}

/** One file in both module formats. */
interface Forms {
  esm: string;
  /** Undefined when only an ES module can contain the code: it awaits at the top level or declares the wrapper's names. */
  commonjs: string | undefined;
  map: SourceMapInput;
  commonjsMap: SourceMapInput;
  hasModuleSyntax: boolean;
  /** Specifiers in static imports. */
  imports: readonly string[];
}

const require = createRequire(import.meta.url);
/** Loaded with the first file that needs it: the compiler takes 20 MB until the process ends. */
const compiler = () => require("oxc-transform") as typeof import("oxc-transform");
const remapping: typeof Remapping = (...args) => (require("@jridgewell/remapping") as typeof Remapping)(...args);

/** ES modules in JavaScript, which Node runs as they are written. */
const asWritten = new Set<string>();

const TYPESCRIPT = /\.(?:[cm]?ts|tsx|jsx)$/;

/**
 * Compiles a file that Node cannot run as its owner wrote it: TypeScript, and JavaScript with `import` in a CommonJS package.
 * Returns undefined for any other file. Throws a SyntaxError with its place noted.
 */
export function compile(path: string): Compiled | undefined {
  const declared = declaredFormat(path);
  const isTypeScript = TYPESCRIPT.test(path);
  if (!isTypeScript && !/\.m?js$/.test(path)) return undefined;
  if (!isTypeScript && declared === "module") {
    asWritten.add(path);
    return undefined;
  }
  if (!isTypeScript && !/\b(?:import|export)\b/.test(readFileSync(path, "utf8"))) return undefined;
  const forms = formsOf(path);
  if (!isTypeScript && !forms.hasModuleSyntax) return undefined;
  if (declared === "commonjs" && (path.endsWith(".cts") || canBeCommonJs(path)))
    return emit(
      path,
      "commonjs",
      forms.hasModuleSyntax ? `${PREAMBLE} ${exportNames(forms.commonjs ?? "")}` : "",
      forms.commonjs ?? forms.esm,
      forms.commonjsMap,
    );
  return emit(path, "module", namesOfCommonJs(forms.esm), forms.esm, forms.map);
}

/** A file as an ES module without types, as it was written or compiled. */
export function javaScriptOf(path: string): string {
  return TYPESCRIPT.test(path) ? formsOf(path).esm : readFileSync(path, "utf8");
}

/** The owner's position for an offset in {@link javaScriptOf}; lines and columns from 1. */
export function placeInSource(path: string, offset: number): { line: number; column: number } {
  const before = javaScriptOf(path).slice(0, offset).split("\n");
  const [line, column] = [before.length, before.at(-1)!.length];
  if (!TYPESCRIPT.test(path)) return { line, column: column + 1 };
  const found = new SourceMap(formsOf(path).map as SourceMapPayload).findEntry(line - 1, column);
  if (!("originalLine" in found)) return { line, column: column + 1 };
  return { line: found.originalLine + 1, column: found.originalColumn + 1 };
}

/** Adds the position to an import error. Node names no line when an ES module does not parse; the compiler does. */
export function withPlace(error: unknown): unknown {
  if (!(error instanceof SyntaxError) || hasPlace(error)) return error;
  for (const path of asWritten)
    try {
      formsOf(path);
    } catch (found) {
      asWritten.delete(path);
      return found;
    }
  return error;
}

/** Node cannot `require` a module that awaits at the top level, so the files that import it must be ES modules too. */
function canBeCommonJs(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !/\.(?:ts|tsx|jsx|js)$/.test(path) || declaredFormat(path) === "module") return true;
  seen.add(path);
  const { commonjs, imports } = formsOf(path);
  if (commonjs === undefined) return false;
  return imports.every((specifier) => {
    const imported = findImported(specifier, path);
    return imported === undefined || canBeCommonJs(imported, seen);
  });
}

const cache = new Map<string, Forms>();

function formsOf(path: string): Forms {
  const known = cache.get(path);
  if (known) return known;
  const original = readFileSync(path, "utf8");
  // The transformation to CommonJS moves declarations before the first line.
  const text = original.replace(/^#!/, "//");
  const { transformSync, moduleRunnerTransformSync } = compiler();
  const compiled = transformSync(pathToFileURL(path).href, text, optionsOf(path));
  refuse(compiled.errors, path, text);
  const map = compiled.map as SourceMapInput;
  rememberMap(path, compiled.map as object);
  const runner = moduleRunnerTransformSync(path, compiled.code, { sourcemap: true });
  refuse(runner.errors, path, text);
  refuseDecorators(path, compiled.code, runner.code);
  // The replacement has the same length, because the source map counts columns.
  const commonjs = runner.code.replaceAll("await __vite_ssr_import__(", "      __vite_ssr_import__(");
  const forms: Forms = {
    esm: compiled.code,
    commonjs: !MAY_NOT_PARSE.test(commonjs) || parses(commonjs) ? commonjs : undefined,
    map,
    commonjsMap: remapping([runner.map as SourceMapInput, map], () => null) as SourceMapInput,
    hasModuleSyntax: /\b__vite_ssr_(?!dynamic_import)/.test(runner.code),
    imports: runner.deps,
  };
  cache.set(path, forms);
  return forms;
}

function optionsOf(path: string): TransformOptions {
  const { compilerOptions = {} } = tsconfigOf(path)?.config ?? {};
  const { target, useDefineForClassFields, experimentalDecorators, emitDecoratorMetadata, strict } = compilerOptions;
  // Classes define fields from this target on; before, a field without a value was only a type.
  const definesFields = useDefineForClassFields ?? !/^es(?:[35]$|6$|20(?:1\d|2[01])$)/i.test(target ?? "");
  return {
    lang: languageOf(path),
    sourceType: "module",
    sourcemap: true,
    typescript: {
      onlyRemoveTypeImports: compilerOptions.verbatimModuleSyntax === true,
      removeClassFieldsWithoutInitializer: !definesFields,
    },
    decorator: {
      legacy: experimentalDecorators === true,
      emitDecoratorMetadata: emitDecoratorMetadata === true,
      strictNullChecks: compilerOptions.strictNullChecks ?? strict ?? true,
    },
  };
}

function languageOf(path: string): "ts" | "tsx" | "jsx" | "js" {
  const ending = extname(path);
  if (ending === ".tsx" || ending === ".jsx") return ending === ".tsx" ? "tsx" : "jsx";
  return ending === ".js" ? "js" : "ts";
}

function refuse([first]: readonly OxcError[], path: string, text: string): void {
  if (!first) return;
  // The last label is the place itself; others are what it contradicts. Labels count bytes.
  const before = Buffer.from(text).subarray(0, first.labels.at(-1)?.start).toString().split("\n");
  const error = new SyntaxError(first.message);
  notePlace(error, { path, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 });
  throw error;
}

/** The compiler leaves standard decorators in the code, which Node does not know; it compiles TypeScript's own. */
function refuseDecorators(path: string, code: string, withoutImports: string): void {
  const at = code.search(/(?<=^[ \t]*)@[\w(]/m);
  if (at === -1 || parses(`async () => {${withoutImports}\n}`)) return;
  const before = code.slice(0, at).split("\n");
  const error = new SyntaxError('Decorators need "experimentalDecorators": true in tsconfig.json');
  notePlace(error, originalPlace({ path, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }));
  throw error;
}

/** Parameters of the wrapper function that Node puts around a CommonJS module. */
const WRAPPER = ["exports", "require", "module", "__filename", "__dirname"];
const MAY_NOT_PARSE = new RegExp(String.raw`\bawait\b|\b(?:const|let|class)\s+(?:${WRAPPER.join("|")})\b`);

function parses(code: string): boolean {
  try {
    compileFunction(code, WRAPPER);
    return true;
  } catch {
    return false;
  }
}

/**
 * What oxc's import and export transformation refers to, with `esModuleInterop` behaviour: a module without ES exports
 * is the default export, and its members are named ones.
 */
const PREAMBLE = [
  `"use strict"; Object.defineProperty(exports, "__esModule", { value: true });`,
  `const __vite_ssr_exports__ = exports;`,
  `const __vite_ssr_import_meta__ = { url: require("node:url").pathToFileURL(__filename).href, filename: __filename, dirname: __dirname };`,
  `const __vite_ssr_dynamic_import__ = (id, options) => import(id, options);`,
  `const __vite_ssr_import__ = (id) => { const m = require(id);`,
  `if (m?.__esModule || m?.[Symbol.toStringTag] === "Module") return m;`,
  `return Object.create(Object(m) === m ? m : null, { default: { value: m, enumerable: true } }); };`,
  `const __vite_ssr_exportAll__ = (m) => { for (const key in m) if (key !== "default" && !Object.hasOwn(exports, key))`,
  `Object.defineProperty(exports, key, { enumerable: true, configurable: true, get: () => m[key] }); };`,
].join(" ");

/** Names the exports in the form that Node searches in a CommonJS module's text when an ES module imports it. */
function exportNames(code: string): string {
  const names = [...code.matchAll(/^Object\.defineProperty\(__vite_ssr_exports__, "([\w$]+)"/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "default");
  const all = [...code.matchAll(/^__vite_ssr_exportAll__\((__vite_ssr_import_\d+__)\)/gm)].flatMap(
    ([, id]) => new RegExp(String.raw`^const ${id} = .*?__\(("(?:[^"\\]|\\.)*")`, "m").exec(code)?.[1] ?? [],
  );
  const text = `0 && (module.exports = { ${[...names, ...all.map((id) => `...require(${id})`)].join(", ")} });`;
  // A name may be a reserved word.
  return parses(text) ? text : "";
}

/** Defines the CommonJS names that an ES module uses: for `import x = require()`, or in a CommonJS package. */
function namesOfCommonJs(code: string): string {
  const values = {
    require: `process.getBuiltinModule("node:module").createRequire(import.meta.url)`,
    __filename: "import.meta.filename",
    __dirname: "import.meta.dirname",
  };
  const used = Object.entries(values).filter(
    ([name]) =>
      new RegExp(String.raw`\b${name}\b`).test(code) &&
      !new RegExp(String.raw`(?:const|let|var|function|import)\s[^=;(]*\b${name}\b`).test(code),
  );
  return used.map(([name, value]) => `const ${name} = ${value};`).join(" ");
}

/** Puts `before` on its own line, so that the code's map only moves by a line. */
function emit(path: string, format: Compiled["format"], before: string, code: string, map: SourceMapInput): Compiled {
  const { mappings, ...rest } = map as { mappings: string };
  const moved = { ...rest, mappings: before ? `;${mappings}` : mappings, sources: [pathToFileURL(path).href] };
  rememberMap(path, moved);
  const inline = Buffer.from(JSON.stringify(moved)).toString("base64");
  const source = `${before && `${before}\n`}${code}\n//# sourceMappingURL=data:application/json;base64,${inline}\n`;
  return { format, source };
}
