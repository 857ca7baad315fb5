import { hash } from "node:crypto";
import type { Reference, Variable } from "eslint-scope";
import type { Node } from "estree";
import { changeOf } from "./changes.ts";
import { isFunction, isInFunction, type Module, normalForm, referencesIn } from "./modules.ts";
import type { Slice } from "./slice.ts";

/** One declaration of a slice. */
export interface Form {
  /** Only functions: whatever differs in it is in the code that its mutants change. */
  isFunction: boolean;
  /** What its functions read that no call has, such as `the clock (Date)`. */
  reads: string[];
}

export const hashOf = (text: string): string => hash("sha256", text).slice(0, 16);

/** A slice's declarations by a hash of their normal form, and another fact that counts like a constant. */
export function formsOf({ code, parts }: Slice, fact: string): Record<string, Form> {
  const forms = new Map<string, Form>();
  for (const { module, node } of code) {
    const own = node.type === "VariableDeclarator" ? node.init : node;
    forms.set(hashOf(normalForm(node)), { isFunction: isFunction(own ?? undefined), reads: readsIn(module, node) });
  }
  // A parameter's name, and a function without its own name, are in another form of the same code.
  for (const part of [...parts, fact])
    if (!forms.has(hashOf(part)))
      forms.set(hashOf(part), { isFunction: /^(?:\{"params"|parameter )/.test(part), reads: [] });
  return Object.fromEntries(forms);
}

const GLOBALS: Readonly<Record<string, string>> = {
  performance: "the clock",
  crypto: "random numbers",
  fetch: "the network",
  process: "the process",
};
const MODULES =
  /^(?:node:)?(?:fs|http|https|http2|net|dns|tls|dgram|child_process|crypto|os|process|timers|perf_hooks)\b/;

/** What functions within a node read besides their call. What runs while a module loads is a constant. */
function readsIn(module: Module, node: Node): string[] {
  const found = [...referencesIn(module, node)].flatMap((reference) => {
    const name = reference.identifier.name;
    if (!isInFunction(module, reference.identifier as Node)) return [];
    const source = sourceOf(module, reference);
    return source === undefined ? [] : [`${source} (${name})`];
  });
  return [...new Set(found)];
}

/** What a name reads besides the call. */
export function sourceOf(module: Module, { identifier, resolved }: Reference): string | undefined {
  const node = identifier as Node;
  const outer = module.parents.get(node);
  const member = outer?.type === "MemberExpression" && outer.object === node ? outer.property : undefined;
  const of = member?.type === "Identifier" ? member.name : undefined;
  if (resolved === null) {
    if (identifier.name === "Math" && of === "random") return "random numbers";
    if (identifier.name !== "Date")
      return Object.hasOwn(GLOBALS, identifier.name) ? GLOBALS[identifier.name] : undefined;
    const isGiven = outer?.type === "NewExpression" && outer.callee === node && outer.arguments.length > 0;
    return isGiven || of === "UTC" || of === "parse" || of === "prototype" ? undefined : "the clock";
  }
  const [definition] = resolved.defs;
  if (definition?.type === "ImportBinding" && MODULES.test(String(definition.parent.source.value)))
    return "what the process can reach";
  return isState(module, resolved, node) ? "state that changes" : undefined;
}

/** True for a variable of the module that functions assign, or whose content this code changes. */
function isState(module: Module, variable: Variable, use: Node): boolean {
  if (variable.scope !== module.top) return false;
  const isAssigned = variable.references.some(
    (reference) => reference.isWrite() && reference.init !== true && reference.from.variableScope !== module.top,
  );
  return isAssigned || isFunction(changeOf(module, use));
}
