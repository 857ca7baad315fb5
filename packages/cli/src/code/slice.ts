import type { Variable } from "eslint-scope";
import type { Identifier, Node } from "estree";
import { isOwners } from "../owners.ts";
import { findImported } from "../loading/source-files.ts";
import { type Binding, dataOf, isFunction, isWithin, type Module, nodesIn, normalForm } from "./modules.ts";

/** Collects the owner's code that a function uses: declarations, in all modules, and the arguments of the factories around it. */
export class Slice {
  readonly #modules: ReadonlyMap<string, Module>;
  readonly #seen = new Set<Node | Variable | string>();
  /** Code in its normal form, and names of what other packages provide. */
  readonly parts = new Set<string>();

  constructor(modules: ReadonlyMap<string, Module>) {
    this.#modules = modules;
  }

  /** Adds a part of a module and everything that it uses. */
  add(module: Module, node: Node): void {
    if (this.#seen.has(node)) return;
    this.#seen.add(node);
    this.parts.add(normalForm(node));
    for (const scope of module.scopes.scopes)
      for (const { identifier, resolved } of scope.references)
        if (isWithin(identifier as Node, node) && resolved && !isDefinedIn(resolved, node))
          this.#use({ module, variable: resolved });
  }

  #use({ module, variable }: Binding): void {
    if (this.#seen.has(variable)) return;
    this.#seen.add(variable);
    for (const definition of variable.defs) {
      if (definition.type === "ImportBinding")
        this.#import(module, definition.node, definition.parent.source.value as string);
      else if (definition.type === "Parameter") this.#passedTo(module, definition.node, variable);
      else this.add(module, definition.node);
    }
    this.#changes(module, variable);
  }

  /** Assignments to a variable, and statements at the top level that use it, such as `roles.push("boss")`. */
  #changes(module: Module, variable: Variable): void {
    for (const { identifier, writeExpr, from } of variable.references) {
      if (writeExpr) this.add(module, writeExpr);
      if (from !== module.top) continue;
      let statement = identifier as Node | undefined;
      while (statement && !statement.type.endsWith("Statement")) statement = module.parents.get(statement);
      if (statement?.type === "ExpressionStatement") this.add(module, statement);
    }
  }

  #import(module: Module, specifier: Node, source: string): void {
    const path = findImported(source, module.path);
    const target = path === undefined ? undefined : this.#modules.get(path);
    const name = importedName(specifier);
    if (target === undefined) this.parts.add(path === undefined || !isOwners(path) ? `import ${name}` : dataOf(path));
    else if (name === "*") this.add(target, target.ast);
    else this.#export(target, name);
  }

  /** Adds what a module exports under a name. */
  #export(module: Module, name: string): void {
    const key = `${module.path} ${name}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const own = module.ast.body.flatMap((statement): (() => void)[] => {
      if (statement.type === "ExportDefaultDeclaration" && name === "default")
        return [() => this.add(module, statement.declaration as Node)];
      if (statement.type === "ExportAllDeclaration")
        return [() => this.#reexport(module, statement.source.value as string, name)];
      if (statement.type !== "ExportNamedDeclaration") return [];
      const { declaration } = statement;
      const declared = declaration ? module.scopes.getDeclaredVariables(declaration) : [];
      const variables = declared.filter((one) => one.name === name);
      const specifiers = statement.specifiers.filter(({ exported }) => nameOf(exported) === name);
      return [
        ...variables.map((variable) => () => this.#use({ module, variable })),
        ...specifiers.map(({ local }) => () => {
          if (statement.source) this.#reexport(module, statement.source.value as string, nameOf(local));
          else this.#named(module, nameOf(local));
        }),
      ];
    });
    for (const add of own) add();
  }

  #named(module: Module, name: string): void {
    const variable = module.top.set.get(name);
    if (variable) this.#use({ module, variable });
  }

  #reexport(module: Module, source: string, name: string): void {
    const path = findImported(source, module.path);
    const target = path === undefined ? undefined : this.#modules.get(path);
    if (target) this.#export(target, name);
    else this.parts.add(`import ${name}`);
  }

  /** Adds the values of a parameter: the arguments of every call of its function. */
  #passedTo(module: Module, code: Node, parameter: Variable): void {
    this.parts.add(`parameter ${parameter.name}`);
    const outer = module.parents.get(code);
    if (outer?.type === "CallExpression" && outer.callee !== code) {
      // A callback, such as that of `roles.map((role) => ...)`: its arguments come from the function that receives it.
      this.add(module, outer.callee);
      for (const argument of outer.arguments) if (argument !== code) this.add(module, argument);
      return;
    }
    for (const { caller, call } of this.#callsOf(module, code))
      for (const argument of call.arguments) this.add(caller, argument);
  }

  *#callsOf(module: Module, code: Node) {
    const name = variableOf(module, code);
    if (name === undefined) return;
    for (const caller of this.#modules.values())
      for (const variable of caller === module ? [name] : this.#importsOf(caller, module, name))
        for (const { identifier } of variable.references) {
          const call = caller.parents.get(identifier as Identifier);
          if ((call?.type === "CallExpression" || call?.type === "NewExpression") && call.callee === identifier)
            yield { caller, call };
        }
  }

  /** The variables of a module that import a variable of another one, also through a module that exports it again. */
  #importsOf(caller: Module, module: Module, { name }: Variable): Variable[] {
    return caller.top.variables.filter((one) =>
      one.defs.some((definition) => {
        if (definition.type !== "ImportBinding") return false;
        const path = findImported(definition.parent.source.value as string, caller.path);
        const imported = importedName(definition.node);
        // Without following what modules between them rename: more calls than needed do no harm.
        return path === module.path ? imported === name || imported === "default" : imported === name;
      }),
    );
  }
}

/** The variable that names a function or class: its own name, or the variable that it initialises. */
function variableOf(module: Module, code: Node): Variable | undefined {
  const outer = module.parents.get(code);
  const declared = outer?.type === "VariableDeclarator" ? outer : code;
  const all = module.scopes.getDeclaredVariables(declared);
  if (outer?.type === "VariableDeclarator") return all[0];
  return code.type === "FunctionDeclaration" ? all.find(({ name }) => name === code.id?.name) : undefined;
}

function isDefinedIn(variable: Variable, node: Node): boolean {
  return variable.identifiers.some((one) => isWithin(one, node));
}

function importedName(specifier: Node): string {
  if (specifier.type === "ImportSpecifier") return nameOf(specifier.imported);
  return specifier.type === "ImportDefaultSpecifier" ? "default" : "*";
}

const nameOf = (name: Node): string =>
  name.type === "Identifier" ? name.name : String((name as { value?: unknown }).value);

/** Every function in the modules with a given normal form. */
export function* functionsLike(modules: ReadonlyMap<string, Module>, form: string) {
  for (const module of modules.values())
    for (const node of nodesIn(module.ast)) if (isFunction(node) && bodyOf(node) === form) yield { module, node };
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
