import { readFile, writeFile } from "node:fs/promises";
import type { Node, ObjectExpression, Property } from "estree";
import type { JsonValue } from "@patchbay/kit";
import { type Module, nodesIn, parseModules, positionOf } from "../code/modules.ts";
import { placeInSource } from "@patchbay/loading/compile";
import type { Call } from "./judge.ts";

/** A case to add to a function. */
export interface NewCase {
  functionName: string;
  call: Call;
  /** Roles of which no allowed call has its records. Such a case is named `unknown1`, and not counted. */
  unknownTo?: readonly string[] | undefined;
}

/** Adds cases to the definitions in the owner's `files`. Returns the files that changed, and the cases whose definition is written in another form. */
export async function adoptCases(
  cases: readonly NewCase[],
  files: ReadonlySet<string>,
): Promise<{ files: string[]; left: NewCase[]; unknown: number }> {
  const modules = [...parseModules(files).values()];
  const insertions = new Map<string, { offset: number; text: string }[]>();
  const left: NewCase[] = [];
  const byFunction = Map.groupBy(cases, ({ functionName }) => functionName);
  for (const [functionName, some] of byFunction) {
    const found = await insertionFor(modules, functionName);
    if (found === undefined) left.push(...some);
    else {
      const names = { found: freshNames("found", found.taken), unknown: freshNames("unknown", found.taken) };
      const lines = some.map(
        ({ call, unknownTo }) => `${names[unknownTo ? "unknown" : "found"].next().value}: ${caseText(call)},`,
      );
      insertions.set(found.path, [
        ...(insertions.get(found.path) ?? []),
        { offset: found.offset, text: found.wrap(lines) },
      ]);
    }
  }
  for (const [path, some] of insertions) {
    let text = await readFile(path, "utf8");
    for (const { offset, text: added } of some.toSorted((a, b) => b.offset - a.offset))
      text = text.slice(0, offset) + added + text.slice(offset);
    await writeFile(path, text);
  }
  const written = cases.filter((one) => !left.includes(one));
  return { files: [...insertions.keys()], left, unknown: written.filter(({ unknownTo }) => unknownTo).length };
}

/** Where a function's cases begin: within `cases: { ... }`, or before its handler if it has none. */
async function insertionFor(modules: readonly Module[], functionName: string) {
  for (const module of modules)
    for (const node of nodesIn(module.ast)) {
      if (node.type !== "ObjectExpression" || !isDefinition(node, functionName)) continue;
      const cases = member(node, "cases");
      const handler = member(node, "handler");
      if (cases && cases.value.type !== "ObjectExpression") return undefined;
      const at = cases?.value ?? handler;
      if (at === undefined) return undefined;
      const text = await readFile(module.path, "utf8");
      const offset = offsetOf(text, placeInSource(module.path, positionOf(at).start));
      if (cases && text[offset] !== "{") return undefined;
      const indent = /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset) + 1))![0];
      const inside = (lines: string[]) => lines.map((line) => `\n${indent}  ${line}`).join("");
      return {
        path: module.path,
        offset: cases ? offset + 1 : offset,
        taken: cases ? namesIn(cases.value as ObjectExpression) : [],
        wrap: (lines: string[]) => (cases ? inside(lines) : `cases: {${inside(lines)}\n${indent}},\n${indent}`),
      };
    }
  return undefined;
}

function isDefinition(node: ObjectExpression, functionName: string): boolean {
  const name = member(node, "name")?.value;
  return name?.type === "Literal" && name.value === functionName && member(node, "handler") !== undefined;
}

function member({ properties }: ObjectExpression, name: string): Property | undefined {
  return properties.find((property): property is Property => property.type === "Property" && nameOf(property) === name);
}

const nameOf = ({ key, computed }: Property): string | undefined => {
  const node: Node = key;
  if (node.type === "Identifier") return computed ? undefined : node.name;
  return node.type === "Literal" ? String(node.value) : undefined;
};

const namesIn = ({ properties }: ObjectExpression): string[] =>
  properties.flatMap((property) => (property.type === "Property" ? (nameOf(property) ?? []) : []));

function offsetOf(text: string, { line, column }: { line: number; column: number }): number {
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, row) => sum + row.length + 1, 0) + column - 1;
}

function* freshNames(word: string, taken: readonly string[]): Generator<string, never> {
  for (let i = 1; ; i++) if (!taken.includes(`${word}${i}`)) yield `${word}${i}`;
}

/** A case as code. */
export function caseText({ input, context }: Call): string {
  const about = Object.keys(context).length === 0 ? "" : `, context: ${codeOf(context)}`;
  return `{ input: ${codeOf(input)}${about} }`;
}

/** A JSON value as code, with member names as people write them. */
function codeOf(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(codeOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, inner]) =>
      `${/^[A-Za-z_$][\w$]*$/.test(name) && name !== "__proto__" ? name : JSON.stringify(name)}: ${codeOf(inner)}`,
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
