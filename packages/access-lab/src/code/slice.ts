import type { Definition, Variable } from "eslint-scope";
import type { Node } from "estree";
import { GLOBALS } from "@patchbay/loading/resolved";
import { changeOf } from "./changes.ts";
import { Links, type Origin } from "./links.ts";
import {
  type Binding,
  dataOf,
  isFunction,
  isWithin,
  type Module,
  nodesIn,
  normalForm,
  referencesIn,
} from "./modules.ts";

/**
 * Collects the owner's code that a function uses: declarations in all modules, and the arguments to the factories
 * around it.
 */
export class Slice {
  readonly #modules: ReadonlyMap<string, Module>;
  readonly links: Links;
  readonly #seen = new Set<Node | Variable | Module>();
  /** Code in its normal form, and the names that it uses from other packages. */
  readonly parts = new Set<string>();
  /** The code itself, outer nodes before what they use. */
  readonly code: { module: Module; node: Node }[] = [];
  /** The functions that were added, without what they use. */
  readonly entries: { module: Module; node: Node }[] = [];
  /** True if the function uses code that cannot be followed, so that any owner code may decide. */
  isOpen = false;

  constructor(modules: ReadonlyMap<string, Module>, links: Links) {
    this.#modules = modules;
    this.links = links;
  }

  /** Adds the functions with a given normal form, and everything that they use. False if the owner's files have none. */
  addFunctions(form: string): boolean {
    this.parts.add(form);
    const found = [...functionsLike(this.#modules, form)];
    for (const { module, node } of found) {
      // `this` is a class or an instance, whose state no name leads to.
      if (usesThis(node)) this.isOpen = true;
      this.#add(module, node);
      this.entries.push({ module, node });
    }
    return found.length > 0;
  }

  /** Adds a module part and everything that it uses. */
  #add(module: Module, node: Node): void {
    if (this.#seen.has(node)) return;
    this.#seen.add(node);
    this.parts.add(normalForm(node));
    this.code.push({ module, node });
    for (const { identifier, resolved } of referencesIn(module, node))
      if (resolved === null) this.#global(identifier.name);
      else if (!isDefinedIn(resolved, node)) this.use({ module, variable: resolved });
    for (const found of module.imports) if (isWithin(found, node)) this.#import(module, literalOf(found.source), "*");
  }

  #global(name: string): void {
    // What the owner's code puts there has no declaration.
    if (name === "require" || name === "globalThis" || name === "global" || !GLOBALS.has(name)) this.isOpen = true;
  }

  /** Adds a variable, with everything that it holds and that changes it. */
  use({ module, variable }: Binding): void {
    if (this.#seen.has(variable)) return;
    this.#seen.add(variable);
    if (variable.defs.length === 0) this.isOpen = true;
    for (const definition of variable.defs) {
      if (definition.type === "ImportBinding")
        for (const origin of this.links.origins(module, variable)) this.#follow(origin);
      else if (definition.type === "Parameter") this.#passedTo(module, definition.node, variable);
      else this.#define(module, definition);
    }
    this.#changes(module, variable);
  }

  #define(module: Module, { node, type }: Definition): void {
    this.#add(module, node);
    if (type === "CatchClause") this.isOpen = true;
    const loop = module.parents.get(module.parents.get(node) as Node);
    if (node.type !== "VariableDeclarator" || node.init) return;
    if (loop?.type === "ForOfStatement" || loop?.type === "ForInStatement") this.#add(module, loop.right);
  }

  #import(module: Module, source: string | undefined, name: string): void {
    if (source === undefined) this.isOpen = true;
    else for (const origin of this.links.imported(module, source, name)) this.#follow(origin);
  }

  #follow(origin: Origin): void {
    if (origin.kind === "variable") this.use(origin);
    else if (origin.kind === "node") this.#add(origin.module, origin.node);
    else if (origin.kind === "module") this.#whole(origin.module);
    else if (origin.kind === "data") this.parts.add(dataOf(origin.path));
    else if (origin.kind === "package") this.parts.add(`import ${origin.name}`);
    else this.isOpen = true;
  }

  /** Adds a whole module, with its imports and re-exports. */
  #whole(module: Module): void {
    if (this.#seen.has(module)) return;
    this.#seen.add(module);
    this.#add(module, module.ast);
    for (const variable of module.top.variables) this.use({ module, variable });
    for (const statement of module.ast.body)
      if (statement.type === "ExportAllDeclaration") this.#import(module, statement.source.value as string, "*");
      else if (statement.type === "ExportNamedDeclaration" && statement.source)
        for (const { local } of statement.specifiers)
          this.#import(module, statement.source.value as string, (local as { name: string }).name);
  }

  /** Code that changes a variable or what it holds, such as `roles.push("boss")`, in any module. */
  #changes(module: Module, variable: Variable): void {
    for (const { writeExpr } of variable.references) if (writeExpr) this.#add(module, writeExpr);
    for (const { module: user, node } of this.links.uses(module, variable)) {
      const code = changeOf(user, node);
      if (code === undefined) continue;
      this.#add(user, code);
      if (isFunction(code) && variableOf(user, code)) this.#addCalls(user, code);
    }
  }

  /** Adds a parameter's values: the arguments in every call to its function. */
  #passedTo(module: Module, code: Node, parameter: Variable): void {
    this.parts.add(`parameter ${parameter.name}`);
    const outer = module.parents.get(code);
    if (outer?.type === "CallExpression" && outer.callee !== code) {
      // A callback, as in `roles.map((role) => ...)`: its arguments come from the function that receives it.
      this.#add(module, outer.callee);
      for (const argument of outer.arguments) if (argument !== code) this.#add(module, argument);
      return;
    }
    this.#addCalls(module, code);
  }

  #addCalls(module: Module, code: Node): void {
    const name = variableOf(module, code);
    if (name === undefined) {
      this.isOpen = true;
      return;
    }
    for (const { module: caller, node } of this.links.uses(module, name)) {
      const outer = caller.parents.get(node);
      if ((outer?.type === "CallExpression" || outer?.type === "NewExpression") && outer.callee === node)
        for (const argument of outer.arguments) this.#add(caller, argument);
      // Used as a value, so it may be called anywhere.
      else if (!isNaming(outer, node)) this.isOpen = true;
    }
  }
}

/** True where a name is declared, exported, or gets another name. */
export function isNaming(outer: Node | undefined, node: Node): boolean {
  if (outer?.type === "VariableDeclarator") return outer.init !== node || outer.id.type === "Identifier";
  return outer?.type === "ExportSpecifier" || outer?.type === "ExportDefaultDeclaration" || outer?.type === "Program";
}

/** The variable that names a function or class: its own name, or the variable that it initialises. */
export function variableOf(module: Module, code: Node): Variable | undefined {
  const outer = module.parents.get(code);
  if (outer?.type === "VariableDeclarator")
    return outer.id.type === "Identifier" ? module.scopes.getDeclaredVariables(outer)[0] : undefined;
  if (outer?.type === "MethodDefinition" && outer.kind === "constructor") {
    const owner = module.parents.get(module.parents.get(outer) as Node);
    return owner && variableOf(module, owner);
  }
  if (code.type !== "FunctionDeclaration" && code.type !== "ClassDeclaration") return undefined;
  return module.scopes.getDeclaredVariables(code).find(({ name }) => name === code.id?.name);
}

function isDefinedIn(variable: Variable, node: Node): boolean {
  return variable.identifiers.some((identifier) => isWithin(identifier, node));
}

const literalOf = (node: Node): string | undefined =>
  node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;

/** True if a function refers to the object that it is a member of. */
function usesThis(node: Node): boolean {
  return [...nodesIn(node)].some(
    ({ type }) => type === "ThisExpression" || type === "Super" || (type as string) === "PrivateIdentifier",
  );
}

/** The functions of each module by their normal form. */
const FUNCTIONS = new WeakMap<Module, Map<string, Node[]>>();

/** Every function in the modules with a given normal form. */
function* functionsLike(modules: ReadonlyMap<string, Module>, form: string) {
  for (const module of modules.values()) {
    const known = FUNCTIONS.get(module) ?? Map.groupBy([...nodesIn(module.ast)].filter(isFunction), bodyOf);
    FUNCTIONS.set(module, known);
    for (const node of known.get(form) ?? []) yield { module, node };
  }
}

/** What a function does, whatever its name and whether it is a method. */
export function bodyOf(node: Node): string {
  const { params, body, async, generator, type } = node as unknown as Record<string, unknown>;
  return normalForm({
    params,
    body,
    async,
    generator: generator ?? false,
    isArrow: type === "ArrowFunctionExpression",
  });
}
