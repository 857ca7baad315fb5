import { readFileSync } from "node:fs";
import type { BinaryOperator, Node } from "estree";
import { accessColumns, roleOfColumn } from "@patchbay/access";
import type { Service } from "@patchbay/functions";
import { hashOf } from "../code/forms.ts";
import { isInFunction, type Module, nodesIn, normalForm, positionOf } from "../code/modules.ts";
import { Decisions } from "../solve/decision.ts";
import { readCode } from "../solve/code.ts";
import { javaScriptOf, placeInSource } from "@patchbay/loading/compile";

/** One change in the code that decides. */
export interface Mutant {
  id: number;
  path: string;
  /** Line in the owner's file, from 1. */
  line: number;
  /** The code and what replaces it. Undefined: nothing, and it is reported whether the code is true and false. */
  before: string;
  after: string | undefined;
  /** The functions whose `authorize` or `when` uses the code, and decides otherwise for what is known of its normal form. */
  functionNames: string[];
  /** Without `after`: the functions and truths, such as `refund true`, that calls must show. */
  open: string[];
  /** The declarations around it, as in {@link FunctionFacts.forms}. */
  forms: string[];
}

/** The mutants of a service, and the files with all of them. */
export interface Dissection {
  mutants: Mutant[];
  mutated: MutatedFile[];
  /** By function: the columns for which no deciding code reads the call, so that one call shows what all calls are. */
  settled: Record<string, string[]>;
}

/** {@link mutantsOf} the whole code, for a proof. */
export async function dissect(
  service: Service,
  files: ReadonlySet<string>,
  only?: readonly string[],
): Promise<Dissection> {
  const functions = [...service.access.values()].map(({ manifest }) => manifest);
  const columns = accessColumns({ ...service.manifest, functions });
  const settled: Dissection["settled"] = {};
  for (const [name, { code }] of service.access) settled[name] = await settledIn(code(), columns);
  return { ...mutantsOf(service, files, { isWhole: true, only }), settled };
}

/** A file with all its mutants; {@link selectMutant} selects one. */
export interface MutatedFile {
  path: string;
  source: string;
}

const SWITCH = Symbol.for("patchbay.mutant");
const WATCH = Symbol.for("patchbay.condition");
let [selected, reached] = [0, new Set<number>()];

/** Called by the mutated code: true for the selected mutant. */
const isSelected = (id: number): boolean => {
  reached.add(id);
  return id === selected;
};

/** Called by the mutated code: a condition is reached as its id where it is true, and as the negative id where it is false. */
const watch = <T>(id: number, value: T): T => {
  reached.add(value ? id : -id);
  return value;
};

/**
 * Selects one mutant for the mutated code in this process; 0 for none. Returns the mutants that ran since the last
 * selection.
 */
export function selectMutant(id: number): number[] {
  Object.assign(globalThis, { [SWITCH]: isSelected, [WATCH]: watch });
  const before = [...reached];
  [selected, reached] = [id, new Set()];
  return before;
}

interface Point {
  mutant: Mutant;
  start: number;
  end: number;
}

/**
 * The mutants in the code that decides a service's calls, and the files that contain them. `isWhole`: also conditions,
 * and code that a comment excludes, because a proof must not depend on a comment.
 */
export function mutantsOf(
  service: Service,
  files: ReadonlySet<string>,
  { isWhole = false, only }: { isWhole?: boolean; only?: readonly string[] | undefined } = {},
) {
  const owners = readCode(files);
  // A mutant that differs only for values that the schemas refuse decides equally.
  const decisions = new Decisions(service, owners, { isBounded: true });
  const points = new Map<string, Point>();
  for (const [functionName, { code }] of service.access) {
    if (only?.includes(functionName) === false) continue;
    const { authorize = [], approval = [] } = code();
    const original = decisions.hashOfAll([authorize, approval]);
    const isEqual = (part: Node, other: Node) =>
      original !== undefined && original === decisions.hashOfAll([authorize, approval], new Map([[part, other]]));
    for (const { module, node } of owners.slice([...authorize, ...approval]).code) {
      const form = hashOf(normalForm(node));
      for (const part of nodesIn(node)) {
        if (!isInFunction(module, part) || (!isWhole && isIgnored(module, part))) continue;
        const watched = isWhole && isCondition(module, part) ? [undefined] : [];
        for (const after of [...alternatives(module, part, isWhole), ...watched]) {
          const { mutant } = pointAt(points, { module, node: part, after: after && written(module, after) });
          mutant.forms = [...new Set([...mutant.forms, form])];
          if (after && isEqual(part, after)) continue;
          mutant.functionNames = [...new Set([...mutant.functionNames, functionName])];
          if (after) continue;
          // With the condition always false, the code decides otherwise, so that a call must make it true.
          for (const truth of [true, false])
            if (!isEqual(part, literal(!truth))) mutant.open.push(`${functionName} ${truth}`);
        }
      }
    }
  }
  const found = [...points.values()];
  const of = (path: string) => found.filter(({ mutant }) => mutant.path === path);
  const paths = new Set(found.map(({ mutant }) => mutant.path));
  return {
    mutants: found.map(({ mutant }) => mutant),
    mutated: [...paths].map((path) => ({ path, source: withMutants(path, of(path)) })),
  };
}

function pointAt(
  points: Map<string, Point>,
  { module: { path }, node, after }: { module: Module; node: Node; after: string | undefined },
): Point {
  const { start, end } = positionOf(node);
  const key = `${path} ${start} ${end} ${after}`;
  const { line } = placeInSource(path, start);
  const mutant = { id: points.size + 1, path, line, before: javaScriptOf(path).slice(start, end), after };
  const point = points.get(key) ?? { mutant: { ...mutant, functionNames: [], open: [], forms: [] }, start, end };
  points.set(key, point);
  return point;
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

const COMPARISONS: Readonly<Record<string, readonly BinaryOperator[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "==": ["!="],
  "!=": ["=="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
};

const literal = (value: boolean): Node => ({ type: "Literal", value });

/** A node of the code, or what {@link alternatives} makes of it, as text. */
function written(module: Module, node: Node): string {
  const text = (part: Node) => javaScriptOf(module.path).slice(positionOf(part).start, positionOf(part).end);
  if (node.type === "Literal" && positionOf(node).start === undefined) return String(node.value);
  return node.type === "BinaryExpression" ? `${text(node.left)} ${node.operator} ${text(node.right)}` : text(node);
}

/** What may replace an expression: the expression with an operand omitted, other comparisons, and the opposite decision. */
function alternatives(module: Module, node: Node, isWhole: boolean): Node[] {
  const is = node.type === "Literal" ? node.value : undefined;
  const constants = isDecision(module, node) ? [true, false].filter((value) => value !== is).map(literal) : [];
  if (node.type === "LogicalExpression" && node.operator !== "??")
    // `isOwn(order) || "Only your own orders."`: the text is a reason to refuse, so leaving it out decides the same.
    return [...(isText(module, node.right) ? [node.left] : [node.left, node.right]), ...constants];
  if (node.type === "LogicalExpression" && isWhole) return [node.left, node.right];
  if (node.type === "BinaryExpression")
    return [...(COMPARISONS[node.operator] ?? []).map((operator): Node => ({ ...node, operator })), ...constants];
  if (node.type === "UnaryExpression" && node.operator === "!") return [node.argument, ...constants];
  return constants;
}

const VALUES = new Set(["Literal", "TemplateLiteral", "ArrayExpression", "ObjectExpression", "LogicalExpression"]);

/** True for code that is used as a condition, without another condition in it. */
function isCondition(module: Module, node: Node): boolean {
  const outer = module.parents.get(node);
  if (VALUES.has(node.type) || (node.type === "UnaryExpression" && node.operator === "!") || isText(module, node))
    return false;
  if (outer?.type === "LogicalExpression") return outer.operator !== "??";
  if (outer?.type === "IfStatement" || outer?.type === "ConditionalExpression") return outer.test === node;
  return outer?.type === "UnaryExpression" && outer.operator === "!";
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
      const choices = same.map(({ mutant: { id, after } }) =>
        after === undefined ? "" : `globalThis[Symbol.for("patchbay.mutant")](${id})?(${after}):`,
      );
      const watched = same.find(({ mutant: { after } }) => after === undefined);
      const call = watched ? `globalThis[Symbol.for("patchbay.condition")](${watched.mutant.id},` : "(";
      made += `${text.slice(at, from)}(${choices.join("")}${call}${render(from, to, within.slice(same.length))}))`;
      at = to;
      i += within.length;
    }
    return made + text.slice(at, end);
  };
  return render(0, text.length, outerFirst);
}

async function settledIn(code: ReturnType<Service["code"]>, columns: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const column of columns) {
    let isRead = false;
    const note = () => ((isRead = true), []);
    const unread = new Proxy({}, { get: note, has: () => (isRead = true), ownKeys: note });
    for (const { run } of [...(code["authorize"] ?? []), ...(code["approval"] ?? [])])
      // A failure denies the call.
      await Promise.try(run, { role: roleOfColumn(column), input: unread, context: unread } as never).catch(() => {});
    if (!isRead) found.push(column);
  }
  return found;
}
