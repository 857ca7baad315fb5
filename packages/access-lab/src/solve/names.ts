import type { Variable } from "eslint-scope";
import type { ArrowFunctionExpression, Node, Pattern } from "estree";
import { changeOf } from "../code/changes.ts";
import { hashOf } from "../code/forms.ts";
import type { Links, Origin, Use } from "../code/links.ts";
import { type Binding, dataOf, isFunction, type Module, nodesIn, referencesIn } from "../code/modules.ts";
import { isNaming, Slice, variableOf } from "../code/slice.ts";
import { GLOBALS } from "./inverses.ts";
import { type Form, leaf } from "./normal.ts";
import { constant, inexact, type Term, unknown } from "./terms.ts";

/** The values of parameters and local constants, and how many calls are being followed. */
export interface Scope {
  module: Module;
  values: Map<Variable, Term>;
  depth: number;
  /** The code runs while its module loads: it may read other content of data than the decision does. */
  isLoading?: boolean;
}

/** Owner functions within owner functions. Recursion ends here. */
export const DEPTH = 8;

/** Reads code as terms. */
interface Reads {
  read(node: Node, scope: Scope): Term;
  function(module: Module, node: Node, scope: Scope): Term;
  bind(pattern: Pattern, value: Term, scope: Scope): (Form | undefined)[];
}

/** What variables hold that have their values before a call. */
export class Names {
  readonly #modules: ReadonlyMap<string, Module>;
  readonly #links: Links;

  constructor(modules: ReadonlyMap<string, Module>, links: Links) {
    this.#modules = modules;
    this.#links = links;
  }

  value(module: Module, variable: Variable, scope: Scope, reader: Reads): Term {
    const given = scope.values.get(variable);
    if (given) return given;
    const [definition] = variable.defs;
    if (definition === undefined || scope.depth > DEPTH * 4) return unknown;
    const inner = { ...scope, module, depth: scope.depth + 1 };
    if (definition.type === "ImportBinding") {
      const [origin] = this.#links.origins(module, variable);
      const found = this.#origin(origin, inner, reader);
      return origin?.kind === "data" && this.#isChanged(module, variable) ? inexact(found) : found;
    }
    const { node } = definition;
    if (!isFixed(module, variable)) return this.stored(unknown, { module, variable }, scope);
    if (definition.type === "FunctionName") return reader.function(module, node, { ...scope, module });
    const values = new Map(scope.values);
    const loading = { ...inner, values, isLoading: true };
    if (definition.type === "Parameter") this.#passed(module, node, loading, reader);
    else if (node.type === "VariableDeclarator" && node.init)
      reader.bind(node.id, reader.read(node.init, loading), loading);
    return this.stored(values.get(variable) ?? unknown, { module, variable }, scope);
  }

  /** Binds the parameters of a function that makes another one, where it is called once. */
  #passed(module: Module, node: Node, scope: Scope, reader: Reads): void {
    const name = variableOf(module, node);
    const uses = name ? [...this.#links.uses(module, name)] : [];
    const calls = uses.flatMap((use) => {
      const outer = use.module.parents.get(use.node);
      return outer?.type === "CallExpression" && outer.callee === use.node ? [{ ...use, args: outer.arguments }] : [];
    });
    const isNamed = (use: Use) => isNaming(use.module.parents.get(use.node), use.node);
    const [call] = calls;
    if (call === undefined || uses.length - uses.filter(isNamed).length > 1) return;
    const outer = { ...scope, module: call.module, values: new Map<Variable, Term>() };
    for (const [i, param] of (node as ArrowFunctionExpression).params.entries()) {
      const given = call.args[i];
      reader.bind(param, given ? reader.read(given, outer) : constant(undefined), scope);
    }
  }

  /** A value from before the call: constants by their content, and other data by the code that makes and changes it. */
  stored(value: Term, { module, variable }: Binding, { isLoading }: Scope): Term {
    const isChanged = this.#isChanged(module, variable);
    if (value.apply && !isChanged) return value;
    const { form } = value;
    const isConstant = form?.test === undefined && (form?.value ?? (form?.isFlat && !this.#isShared(module, variable)));
    if (isConstant && !isChanged) return value;
    const stored = inexact(value, isLoading && isChanged ? undefined : this.#formOf(module, variable));
    if (!isChanged) return stored;
    const { field: _, apply: __, ...rest } = stored;
    return rest;
  }

  #origin(origin: Origin | undefined, scope: Scope, reader: Reads): Term {
    if (origin?.kind === "data" && origin.path.endsWith(".json")) {
      const text = dataOf(origin.path);
      return inexact(constant(JSON.parse(text)), leaf(`file ${hashOf(text)}`));
    }
    if (origin?.kind === "variable") return this.value(origin.module, origin.variable, scope, reader);
    if (origin?.kind === "node") return reader.read(origin.node, { ...scope, module: origin.module });
    if (origin?.kind !== "module") return unknown;
    const field = (name: string) => this.#origin(this.#links.exported(origin.module, name)[0], scope, reader);
    return { ...unknown, field };
  }

  /** True if code changes a variable, or what it holds. */
  #isChanged(module: Module, variable: Variable): boolean {
    return (
      variable.references.some((use) => use.isWrite() && use.init !== true) ||
      [...this.#links.uses(module, variable)].some((use) => changeOf(use.module, use.node) !== undefined)
    );
  }

  /** True if other code gets to hold what a variable holds, and may change it by another name. */
  #isShared = (module: Module, variable: Variable): boolean =>
    [...this.#links.uses(module, variable)].some((use) => !isRead(use));

  /** A variable with data by the code that makes and changes it. Undefined if its methods may change something. */
  #formOf(module: Module, variable: Variable): Form | undefined {
    const [definition, ...others] = variable.defs;
    const node = definition?.node as Node | undefined;
    if (node?.type !== "VariableDeclarator" || others.length > 0 || variable.scope !== module.top) return undefined;
    if (!node.init || !this.#isData(module, node.init, new Set())) return undefined;
    const slice = new Slice(this.#modules, this.#links);
    slice.use({ module, variable });
    if (slice.isOpen) return undefined;
    const isObject = node.id.type === "Identifier" && /^(?:New|Array|Object)Expression$/.test(node.init.type);
    return leaf(`data ${variable.name} ${hashOf(JSON.stringify([...slice.parts].sort()))}`, { isObject });
  }

  /** True for literals, and what the language and Node.js make of them. */
  #isData(module: Module, init: Node, seen: Set<Node>): boolean {
    if (seen.has(init)) return false;
    seen.add(init);
    for (const node of nodesIn(init)) {
      if (OPEN.test(node.type)) return false;
      const outer = module.parents.get(node);
      if (isFunction(node) && (outer?.type !== "CallExpression" || outer.callee === node)) return false;
    }
    return [...referencesIn(module, init)].every(({ identifier, resolved }) => {
      if (resolved === null) return Object.hasOwn(GLOBALS, identifier.name);
      if (resolved.scope !== module.top) return true;
      return this.#links.origins(module, resolved).every((origin) => {
        if (origin.kind === "data") return true;
        if (origin.kind === "package") return isOfNode(resolved);
        const node = origin.kind === "variable" ? (origin.variable.defs[0]?.node as Node | undefined) : undefined;
        return (
          origin.kind === "variable" &&
          node?.type === "VariableDeclarator" &&
          Boolean(node.init && this.#isData(origin.module, node.init, seen))
        );
      });
    });
  }
}

/** Code that may make more than data. */
const OPEN = /^(?:This|Super|Class|Yield|Import|Assignment|Update|Tagged)/;

const isOfNode = ({ defs: [definition] }: Variable): boolean =>
  definition?.type === "ImportBinding" && /^node:(?:fs|path|url)/.test(String(definition.parent.source.value));

/** True where code reads a value, or a member of it. */
function isRead({ module, node }: Use): boolean {
  const outer = module.parents.get(node);
  if (outer?.type === "CallExpression" || outer?.type === "NewExpression") {
    const callee = outer.callee.type === "MemberExpression" ? outer.callee.object : outer.callee;
    return callee.type === "Identifier" && Object.hasOwn(GLOBALS, callee.name) && !module.top.set.has(callee.name);
  }
  return /^(?:Member|Binary|Spread|ForOf|ExportS)/.test(outer?.type ?? "") || isNaming(outer, node);
}

/** The variables of a function, without the functions in it. */
export function localsOf(module: Module, node: Node): Variable[] {
  const scopes = module.scopes.scopes.filter(({ variableScope }) => variableScope.block === node);
  return scopes.flatMap(({ variables }) => variables.filter(({ defs }) => defs[0]?.type !== "FunctionName"));
}

/** True if a variable is not assigned again, and no function changes what it holds. */
export const isFixed = (module: Module, { references, defs }: Variable): boolean =>
  defs.length === 1 &&
  references.every(
    (use) => (!use.isWrite() || use.init === true) && !isFunction(changeOf(module, use.identifier as Node)),
  );
