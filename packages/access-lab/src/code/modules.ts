import { readFileSync } from "node:fs";
import { parse } from "acorn";
import { analyze, type Reference, type Scope, type ScopeManager, type Variable } from "eslint-scope";
import type { ImportExpression, Node, Program } from "estree";
import { isOwners } from "@patchbay/loading/owners";
import { javaScriptOf } from "@patchbay/loading/compile";

/** An owner's file as JavaScript without types, with its scopes. */
export interface Module {
  path: string;
  ast: Program;
  scopes: ScopeManager;
  /** Its top-level scope. */
  top: Scope;
  parents: Map<Node, Node>;
  /** Names that refer to variables, by their position. */
  references: Reference[];
  /** Dynamic imports. */
  imports: ImportExpression[];
}

type Position = { start: number; end: number };

/** An acorn node's position. */
export const positionOf = (node: Node): Position => node as unknown as Position;

export const isWithin = (inner: Node, outer: Node): boolean =>
  positionOf(inner).start >= positionOf(outer).start && positionOf(inner).end <= positionOf(outer).end;

/** True for a file with the owner's code. */
export const isCode = (path: string): boolean => isOwners(path) && CODE.test(path);

const CODE = /\.(?:[cm]?[jt]s|[jt]sx)$/;

/** Parses the owner's files among `paths`, in path order. Leaves out a file that is not an ES module. */
export function parseModules(paths: Iterable<string>): Map<string, Module> {
  const modules = new Map<string, Module>();
  for (const path of [...new Set(paths)].filter(isCode).sort()) {
    const parsed = parseModule(path);
    if (parsed) modules.set(path, parsed);
  }
  return modules;
}

function parseModule(path: string): Module | undefined {
  try {
    const ast = parse(javaScriptOf(path), {
      ecmaVersion: "latest",
      sourceType: "module",
      allowHashBang: true,
      // eslint-scope reads them.
      ranges: true,
    }) as Program;
    const scopes = analyze(ast, { ecmaVersion: 2022, sourceType: "module" });
    const parents = new Map<Node, Node>();
    const imports: ImportExpression[] = [];
    for (const node of nodesIn(ast)) {
      if (node.type === "ImportExpression") imports.push(node);
      for (const child of childrenOf(node)) parents.set(child, node);
    }
    const references = scopes.scopes.flatMap((scope) => scope.references);
    references.sort((a, b) => startOf(a) - startOf(b));
    const top = scopes.scopes.find(({ type }) => type === "module")!;
    return { path, ast, scopes, top, parents, references, imports };
  } catch {
    return undefined;
  }
}

const startOf = ({ identifier }: Reference): number => positionOf(identifier as Node).start;

/** The references within a node. A module has thousands. */
export function* referencesIn({ references }: Module, node: Node): Iterable<Reference> {
  const { start, end } = positionOf(node);
  let [low, high] = [0, references.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(references[middle]!) < start) low = middle + 1;
    else high = middle;
  }
  for (; low < references.length && startOf(references[low]!) < end; low++) yield references[low]!;
}

/** A node and everything below it, outer nodes first. */
export function* nodesIn(node: Node): Iterable<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesIn(child);
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((value: unknown) => (Array.isArray(value) ? value : [value]).filter(isNode));
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** The text of a file that `import` loads as data. */
export function dataOf(path: string): string {
  return readFileSync(path, "utf8");
}

export const isFunction = (node: Node | undefined) =>
  node?.type === "FunctionExpression" ||
  node?.type === "ArrowFunctionExpression" ||
  node?.type === "FunctionDeclaration";

/** False for code at the top level, which runs once, while its module loads. */
export function isInFunction({ parents }: Module, node: Node): boolean {
  for (let outer = parents.get(node); outer; outer = parents.get(outer)) if (isFunction(outer)) return true;
  return false;
}

/** Node members that describe position or notation, not behaviour. */
const WRITING = new Set(["start", "end", "loc", "range", "raw", "directive"]);

/** Code without comments, layout, quotes and parentheses: equal for equal code. */
export function normalForm(node: unknown): string {
  return JSON.stringify(node, (name, value: unknown) => {
    if (WRITING.has(name)) return undefined;
    if (name === "consequent" || name === "alternate") return withoutBraces(value);
    if (typeof value === "bigint") return `${value}n`;
    return value instanceof RegExp ? String(value) : value;
  });
}

function withoutBraces(value: unknown): unknown {
  const { type, body } = (value ?? {}) as { type?: string; body?: readonly { type: string }[] };
  const only = type === "BlockStatement" && body?.length === 1 ? body[0] : undefined;
  return only === undefined || only.type.endsWith("Declaration") ? value : only;
}

/** A module's variable. */
export interface Binding {
  module: Module;
  variable: Variable;
}

/** An identifier's name, or a literal as text. */
export const nameOf = (name: Node): string =>
  name.type === "Identifier" ? name.name : String((name as { value?: unknown }).value);
