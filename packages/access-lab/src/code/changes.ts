import type { Node } from "estree";
import { isFunction, type Module, nameOf } from "./modules.ts";

/**
 * The code that may change the value that `use` names, or the value's content. At the top level every statement that
 * names it may; in a function only an assignment, a deletion or a call that changes its object does, because handlers
 * read the same records.
 */
export function changeOf(module: Module, use: Node): Node | undefined {
  const change = changeBy(module, use);
  const around = functionAround(module, use);
  if (around) return change && around;
  const statement = outermost(module, use);
  if (statement.type.endsWith("Statement")) return statement;
  return change ?? callWith(module, use);
}

/** The function that contains a node, or the outer function if it is only a callback. Undefined at the top level. */
function functionAround(module: Module, inner: Node): Node | undefined {
  for (let node = module.parents.get(inner); node; node = module.parents.get(node)) {
    if (!isFunction(node)) continue;
    const outer = module.parents.get(node);
    const isCalled = outer?.type === "CallExpression";
    if (!isCalled) return node;
  }
  return undefined;
}

function outermost(module: Module, inner: Node): Node {
  let node = inner;
  for (let outer = module.parents.get(node); outer && outer.type !== "Program"; outer = module.parents.get(node))
    node = outer;
  return node;
}

/** The expression that changes what `use` names, or a part thereof. */
function changeBy(module: Module, use: Node): Node | undefined {
  let node = use;
  let outer = module.parents.get(node);
  while (outer?.type === "ChainExpression" || (outer?.type === "MemberExpression" && outer.object === node)) {
    node = outer;
    outer = module.parents.get(node);
  }
  if (outer === undefined) return undefined;
  if (outer.type === "CallExpression")
    return isChangedBy(outer.callee, { node, use, first: outer.arguments[0] }) ? outer : undefined;
  const isTarget =
    (outer.type === "AssignmentExpression" && outer.left === node) ||
    outer.type === "UpdateExpression" ||
    (outer.type === "UnaryExpression" && outer.operator === "delete");
  return isTarget && node !== use ? outer : undefined;
}

function isChangedBy(callee: Node, { node, use, first }: { node: Node; use: Node; first: Node | undefined }): boolean {
  if (callee === node) return node !== use && CHANGING.test(memberOf(node));
  const { object } = callee as { object?: Node };
  const isBuiltIn = object?.type === "Identifier" && (object.name === "Object" || object.name === "Reflect");
  return isBuiltIn && first === node && CHANGING_FIRST.test(memberOf(callee));
}

/**
 * A call to an owner's function, which may change its argument. A package's function rarely does, such as
 * `defineFunction()`.
 */
function callWith(module: Module, use: Node): Node | undefined {
  const outer = module.parents.get(use);
  if (outer?.type !== "CallExpression" || outer.callee === use) return undefined;
  const { callee } = outer;
  const variable = callee.type === "Identifier" ? module.top.set.get(callee.name) : undefined;
  const isOfPackage = variable?.defs.some(
    (definition) => definition.type === "ImportBinding" && !/^[.#/]/.test(definition.parent.source.value as string),
  );
  return isOfPackage === false ? outer : undefined;
}

function memberOf(node: Node): string {
  if (node.type === "ChainExpression") return memberOf(node.expression);
  return node.type === "MemberExpression" ? nameOf(node.property) : "";
}

const CHANGING_FIRST = /^(?:assign|definePropert(?:y|ies)|set|deleteProperty|setPrototypeOf)$/;

/** Language methods that change their object. */
const CHANGING = /^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear)$/;
