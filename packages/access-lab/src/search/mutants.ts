import { readFileSync } from "node:fs";
import type { Node } from "estree";
import type { Service } from "@patchbay/functions";
import { slicesOf } from "../code/fingerprint.ts";
import { isFunction, type Module, nodesIn, positionOf } from "../code/modules.ts";
import { javaScriptOf, placeInSource } from "@patchbay/loading/compile";

/** One change in the code that decides. */
export interface Mutant {
  id: number;
  path: string;
  /** Line in the owner's file, from 1. */
  line: number;
  /** The code and what replaces it. */
  before: string;
  after: string;
  /** The functions whose `authorize` or `when` uses the code. */
  functionNames: string[];
}

/** A file with all its mutants; {@link selectMutant} selects one. */
export interface MutatedFile {
  path: string;
  source: string;
}

const SWITCH = Symbol.for("patchbay.mutant");
let [selected, reached] = [0, new Set<number>()];

/** Called by the mutated code: true for the selected mutant. */
const isSelected = (id: number): boolean => {
  reached.add(id);
  return id === selected;
};

/**
 * Selects one mutant for the mutated code in this process; 0 for none. Returns the mutants that ran since the last
 * selection.
 */
export function selectMutant(id: number): number[] {
  (globalThis as { [SWITCH]?: typeof isSelected })[SWITCH] = isSelected;
  const before = [...reached];
  [selected, reached] = [id, new Set()];
  return before;
}

interface Point {
  mutant: Mutant;
  start: number;
  end: number;
}

/** The mutants in the code that decides a service's calls, and the files that contain them. */
export function mutantsOf(service: Service, files: ReadonlySet<string>): { mutants: Mutant[]; mutated: MutatedFile[] } {
  const slices = slicesOf(files);
  const points = new Map<string, Point>();
  for (const [functionName, { code }] of service.access) {
    const { authorize = [], approval = [] } = code();
    const { code: used } = slices([...authorize, ...approval]);
    for (const { module, node } of used)
      for (const part of nodesIn(node))
        if (isInFunction(module, part) && !isIgnored(module, part))
          for (const after of alternatives(module, part)) addPoint(points, { module, node: part, after, functionName });
  }
  const found = [...points.values()];
  const paths = new Set(found.map(({ mutant }) => mutant.path));
  return {
    mutants: found.map(({ mutant }) => mutant),
    mutated: [...paths].map((path) => ({
      path,
      source: withMutants(
        path,
        found.filter(({ mutant }) => mutant.path === path),
      ),
    })),
  };
}

function addPoint(
  points: Map<string, Point>,
  { module, node, after, functionName }: { module: Module; node: Node; after: string; functionName: string },
): void {
  const { start, end } = positionOf(node);
  const key = `${module.path} ${start} ${end} ${after}`;
  const known = points.get(key);
  if (known && !known.mutant.functionNames.includes(functionName)) known.mutant.functionNames.push(functionName);
  if (known) return;
  const text = javaScriptOf(module.path);
  const found = { id: points.size + 1, path: module.path, line: placeInSource(module.path, start).line };
  points.set(key, {
    mutant: { ...found, before: text.slice(start, end), after, functionNames: [functionName] },
    start,
    end,
  });
}

/** Code at the top level runs once, before a mutant can be selected. */
function isInFunction(module: Module, node: Node): boolean {
  for (let outer = module.parents.get(node); outer; outer = module.parents.get(outer))
    if (isFunction(outer)) return true;
  return false;
}

const IGNORE = "patchbay-ignore-mutants";

/** True if the owner's comment on the line before a statement or function around the code says that its mutants do not count. */
function isIgnored(module: Module, node: Node): boolean {
  const lines = linesOf(module.path);
  if (!lines.some((line) => line.includes(IGNORE))) return false;
  for (let outer: Node | undefined = node; outer; outer = module.parents.get(outer)) {
    const { line } = placeInSource(module.path, positionOf(outer).start);
    if (outer.type !== "Program" && lines[line - 2]?.includes(IGNORE)) return true;
  }
  return false;
}

const texts = new Map<string, string[]>();

function linesOf(path: string): string[] {
  const known = texts.get(path) ?? readFileSync(path, "utf8").split("\n");
  texts.set(path, known);
  return known;
}

const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "==": ["!="],
  "!=": ["=="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
};

/** What may replace an expression: the expression with an operand omitted, other comparisons, and the opposite decision. */
function alternatives(module: Module, node: Node): string[] {
  const text = (part: Node) => javaScriptOf(module.path).slice(positionOf(part).start, positionOf(part).end);
  const constants = isDecision(module, node) ? ["true", "false"].filter((constant) => constant !== text(node)) : [];
  if (node.type === "LogicalExpression" && node.operator !== "??") {
    // `isOwn(order) || "Only your own orders."`: the text is a reason to refuse, so leaving it out decides the same.
    const operands = isText(module, node.right) ? [text(node.right)] : [text(node.left), text(node.right)];
    return [...new Set([...operands, ...constants])];
  }
  if (node.type === "BinaryExpression")
    return [
      ...(COMPARISONS[node.operator] ?? []).map((operator) => `${text(node.left)} ${operator} ${text(node.right)}`),
      ...constants,
    ];
  if (node.type === "UnaryExpression" && node.operator === "!") return [text(node.argument), ...constants];
  return constants;
}

/** True for a condition, and for the return value of a deciding function. */
function isDecision(module: Module, node: Node): boolean {
  const outer = module.parents.get(node);
  if (outer?.type === "IfStatement" || outer?.type === "ConditionalExpression") return outer.test === node;
  const isReturned =
    (outer?.type === "ReturnStatement" && outer.argument === node) ||
    (outer?.type === "ArrowFunctionExpression" && outer.body === node);
  return isReturned && isBoolean(node);
}

function isText(module: Module, node: Node): boolean {
  if (node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node.value === "string")) return true;
  if (node.type !== "Identifier") return false;
  const [definition] = module.top.set.get(node.name)?.defs ?? [];
  return definition?.type === "Variable" && Boolean(definition.node.init && isText(module, definition.node.init));
}

const QUESTIONS = /^(?:includes|has|some|every|test|startsWith|endsWith|hasOwn|is[A-Z].*|may[A-Z].*|can[A-Z].*)$/;

function isBoolean(node: Node): boolean {
  if (node.type === "Literal") return typeof node.value === "boolean";
  if (node.type === "LogicalExpression") return node.operator !== "??" && isBoolean(node.left);
  if (node.type === "BinaryExpression") return Object.hasOwn(COMPARISONS, node.operator);
  if (node.type === "AwaitExpression") return isBoolean(node.argument);
  if (node.type !== "CallExpression") return node.type === "UnaryExpression" && node.operator === "!";
  const { callee } = node;
  const name = callee.type === "MemberExpression" ? callee.property : callee;
  return name.type === "Identifier" && QUESTIONS.test(name.name);
}

/**
 * A file's code in which each mutant is a choice. The code within an expression has its own choices, unless a mutant
 * replaces it.
 */
function withMutants(path: string, points: readonly Point[]): string {
  const text = javaScriptOf(path);
  const outerFirst = points.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const render = (start: number, end: number, inner: readonly Point[]): string => {
    let [made, at] = ["", start];
    for (let i = 0; i < inner.length;) {
      const { start: from, end: to } = inner[i]!;
      const within = inner.slice(i).filter((range) => range.start >= from && range.end <= to);
      const same = within.filter((range) => range.start === from && range.end === to);
      const choices = same.map(
        ({ mutant: { id, after } }) => `globalThis[Symbol.for("patchbay.mutant")](${id})?(${after}):`,
      );
      made += `${text.slice(at, from)}(${choices.join("")}(${render(from, to, within.slice(same.length))}))`;
      at = to;
      i += within.length;
    }
    return made + text.slice(at, end);
  };
  return render(0, text.length, outerFirst);
}
