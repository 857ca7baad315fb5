import { compileFunction } from "node:vm";
import type { Variable } from "eslint-scope";
import type { ArrowFunctionExpression, Node, Pattern, Property } from "estree";
import { changeOf } from "../code/changes.ts";
import { sourceOf } from "../code/forms.ts";
import { type Links, nameOf, type Origin } from "../code/links.ts";
import { dataOf, isFunction, type Module } from "../code/modules.ts";
import { GLOBALS, methodBack, operatorBack } from "./inverses.ts";
import { overItems } from "./items.ts";
import {
  at,
  type Back,
  choice,
  constant,
  FAILED,
  joined,
  member,
  not,
  operation,
  type Place,
  type Term,
  unknown,
  UNKNOWN,
  valueOf,
} from "./terms.ts";

/** The values of parameters, and how many calls are being followed. */
interface Scope {
  module: Module;
  values: ReadonlyMap<Variable, Term>;
  depth: number;
}

/** Owner functions within owner functions. Recursion ends here. */
const DEPTH = 8;

/** Reads code as terms. What it cannot follow is `unknown`. */
export class Reader {
  readonly #links: Links;
  readonly #variables = new Map<Module, ReadonlyMap<unknown, Variable | null>>();

  constructor(links: Links) {
    this.#links = links;
  }

  /** A function as a term that is applied to its arguments. */
  function(module: Module, node: Node, scope: Scope = { module, values: new Map(), depth: 0 }): Term {
    const { params, body, expression } = node as ArrowFunctionExpression;
    const apply = (args: readonly Term[]): Term => {
      if (scope.depth >= DEPTH) return unknown;
      const values = new Map(scope.values);
      const inner = { module, values, depth: scope.depth + 1 };
      for (const [i, param] of params.entries()) this.#bind(param, args[i] ?? constant(undefined), inner, values);
      return expression || body.type !== "BlockStatement" ? this.read(body, inner) : this.#block(body.body, inner);
    };
    const of: Term["of"] =
      (call) =>
      (...args: unknown[]) => {
        const value = apply(args.map(constant)).of(call);
        // The caller is not the owner's code, and would take a symbol for a value.
        if (value === UNKNOWN) throw UNKNOWN;
        if (value === FAILED) throw new Error("failed");
        return value;
      };
    return { of, to: () => [], apply };
  }

  #bind(pattern: Pattern, value: Term, scope: Scope, values: Map<Variable, Term>): void {
    if (pattern.type === "Identifier") {
      const variable = this.#variable(scope.module, pattern);
      if (variable) values.set(variable, value);
    } else if (pattern.type === "AssignmentPattern") {
      const initial = this.read(pattern.right, { ...scope, values });
      this.#bind(pattern.left, at({ ...(value.place ?? ANYWHERE), initial: valueOf(initial) }, value), scope, values);
    } else if (pattern.type === "ObjectPattern")
      for (const property of pattern.properties)
        if (property.type === "RestElement") this.#bind(property.argument, value, scope, values);
        else this.#bind(property.value, member(value, this.#key(property, scope)), scope, values);
  }

  #key({ key, computed }: Pick<Property, "key" | "computed">, scope: Scope): Term {
    return computed ? this.read(key, scope) : constant(nameOf(key));
  }

  /** What statements return. */
  #block([first, ...rest]: readonly Node[], scope: Scope): Term {
    if (first === undefined) return constant(undefined);
    if (first.type === "ReturnStatement")
      return first.argument ? this.read(first.argument, scope) : constant(undefined);
    if (first.type === "ThrowStatement") return constant(FAILED);
    if (first.type === "BlockStatement") return this.#block([...first.body, ...rest], scope);
    if (first.type === "TryStatement") return this.#block([...first.block.body, ...rest], scope);
    if (first.type === "IfStatement") {
      const [yes, no] = [first.consequent, first.alternate].map((some) =>
        this.#block(some ? [some, ...rest] : rest, scope),
      );
      return choice(this.read(first.test, scope), yes!, no!);
    }
    if (first.type === "SwitchStatement") {
      const { discriminant, cases } = first;
      const value = this.read(discriminant, scope);
      const from = (i: number): Term => {
        const all = cases.slice(i).flatMap(({ consequent }) => consequent);
        const end = all.findIndex(({ type }) => type === "BreakStatement");
        return this.#block([...(end === -1 ? all : all.slice(0, end)), ...rest], scope);
      };
      const other = cases.findIndex(({ test }) => !test);
      return cases.reduceRight(
        (no, { test }, i) => (test ? choice(operator("===", [value, this.read(test, scope)]), from(i), no) : no),
        from(other === -1 ? cases.length : other),
      );
    }
    // A loop may do anything.
    return /^(?:For|While|DoWhile|Labeled)/.test(first.type) ? unknown : this.#block(rest, scope);
  }

  read(node: Node, scope: Scope): Term {
    const read = (part: Node) => this.read(part, scope);
    switch (node.type) {
      case "Literal":
        return constant("regex" in node && node.regex ? new RegExp(node.regex.pattern, node.regex.flags) : node.value);
      case "Identifier":
        return this.#name(node, scope);
      case "AwaitExpression":
        return read(node.argument);
      case "ChainExpression":
        return read(node.expression);
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return this.function(scope.module, node, scope);
      case "LogicalExpression": {
        const [left, right] = [read(node.left), read(node.right)];
        if (node.operator === "??") return choice(operator("!=", [left, constant(null)]), left, right);
        return node.operator === "&&" ? choice(left, right, left) : choice(left, left, right);
      }
      case "ConditionalExpression":
        return choice(read(node.test), read(node.consequent), read(node.alternate));
      case "UnaryExpression":
        return node.operator === "!" ? not(read(node.argument)) : operator(node.operator, [read(node.argument)]);
      case "BinaryExpression": {
        const parts = node.operator === "+" ? flat(node).map(read) : [];
        // The parts of a text can be found in it.
        if (parts.slice(0, 2).some((part) => typeof valueOf(part) === "string")) return text(parts);
        return operator(node.operator, [read(node.left), read(node.right)]);
      }
      case "TemplateLiteral":
        return text(
          node.quasis.flatMap(({ value }, i) => [
            constant(value.cooked),
            ...node.expressions.slice(i, i + 1).map(read),
          ]),
        );
      case "ArrayExpression": {
        const [first] = node.elements;
        if (first?.type === "SpreadElement") return method(constant(Array), "from", [read(first.argument)]);
        const parts = node.elements.map((item) => (item ? read(item) : constant(undefined)));
        const list = operation(
          (...values: unknown[]) => values,
          (wanted, i) => [(wanted as unknown[])[i]],
          parts,
        );
        return joined(list, parts, (wanted) => wanted as unknown[]);
      }
      case "ObjectExpression":
        return this.#object(node.properties, scope);
      case "MemberExpression":
        return member(
          read(node.object),
          node.computed ? read(node.property) : constant(nameOf(node.property)),
          node.optional,
        );
      case "NewExpression":
      case "CallExpression": {
        const args = node.arguments.map(read);
        const { callee } = node;
        if (callee.type === "Identifier" && !this.#variable(scope.module, callee))
          return read(callee) === unknown || (callee.name === "Date" && args.length === 0)
            ? unknown
            : method(constant(GLOBALS), callee.name, args, node);
        if (callee.type !== "MemberExpression") return read(callee).apply?.(args) ?? unknown;
        const name = nameOf(callee.property);
        const object = read(callee.object);
        return object.field?.(name)?.apply?.(args) ?? (callee.computed ? unknown : method(object, name, args, callee));
      }
      default:
        return unknown;
    }
  }

  #object(properties: readonly Node[], scope: Scope): Term {
    const parts = new Map(
      properties.map((one) =>
        one.type === "Property" ? [String(valueOf(this.#key(one, scope))), this.read(one.value, scope)] : ["", unknown],
      ),
    );
    const names = [...parts.keys()];
    const make = (...values: unknown[]) => Object.fromEntries(values.map((value, i) => [names[i]!, value]));
    const split = (wanted: unknown) => names.map((name) => (wanted as Record<string, unknown>)[name]);
    const whole = operation(make, (wanted, i) => [split(wanted)[i]], [...parts.values()]);
    return { ...joined(whole, [...parts.values()], split), field: (name) => parts.get(name) };
  }

  #name(node: Node & { type: "Identifier" }, scope: Scope): Term {
    const variable = this.#variable(scope.module, node);
    const reference = scope.module.references.find(({ identifier }) => identifier === node);
    if (reference && sourceOf(scope.module, reference) !== undefined) return unknown;
    if (variable) return this.#value(scope.module, variable, scope);
    return Object.hasOwn(GLOBALS, node.name) ? constant(GLOBALS[node.name]) : unknown;
  }

  #value(module: Module, variable: Variable, scope: Scope): Term {
    const given = scope.values.get(variable);
    if (given) return given;
    const [definition] = variable.defs;
    if (definition === undefined || scope.depth > DEPTH * 4) return unknown;
    const inner = { ...scope, module, depth: scope.depth + 1 };
    if (definition.type === "ImportBinding") return this.#origin(this.#links.origins(module, variable)[0], inner);
    const { node } = definition;
    if (definition.type === "FunctionName") return this.function(module, node, { ...scope, module });
    const isFixed = variable.references.every(
      (use) => (!use.isWrite() || use.init === true) && !isFunction(changeOf(module, use.identifier as Node)),
    );
    if (node.type !== "VariableDeclarator" || !isFixed || !node.init) return unknown;
    const values = new Map(scope.values);
    this.#bind(node.id, this.read(node.init, inner), inner, values);
    return values.get(variable) ?? unknown;
  }

  #origin(origin: Origin | undefined, scope: Scope): Term {
    if (origin?.kind === "data" && origin.path.endsWith(".json")) return constant(JSON.parse(dataOf(origin.path)));
    if (origin?.kind === "variable") return this.#value(origin.module, origin.variable, scope);
    if (origin?.kind === "node") return this.read(origin.node, { ...scope, module: origin.module });
    if (origin?.kind !== "module") return unknown;
    const field = (name: string) => this.#origin(this.#links.exported(origin.module, name)[0], scope);
    return { ...unknown, field };
  }

  /** The variable that a name declares or refers to. */
  #variable(module: Module, node: Node): Variable | undefined {
    const all = module.scopes.scopes.flatMap(({ variables }) => variables);
    const known =
      this.#variables.get(module) ??
      new Map<unknown, Variable | null>([
        ...all.flatMap((one) => one.identifiers.map((name) => [name, one] as const)),
        ...module.references.map(({ identifier, resolved }) => [identifier, resolved] as const),
      ]);
    this.#variables.set(module, known);
    return known.get(node) ?? undefined;
  }
}

const ANYWHERE: Place = { initial: undefined, values: [], accepts: () => true, member: () => ANYWHERE };

/** The operands of `a + b + c`. */
const flat = (node: Node): Node[] =>
  node.type === "BinaryExpression" && node.operator === "+" ? [...flat(node.left), ...flat(node.right)] : [node];

function operator(sign: string, args: readonly Term[]): Term {
  const run = compileFunction(args.length === 1 ? `return ${sign} a` : `return a ${sign} b`, ["a", "b"]);
  return operation(run as () => unknown, operatorBack(sign), args);
}

/** What is found, or changed, when a call makes the code throw. */
const SAMPLES: Readonly<Record<string, unknown>> = { URL: new URL("https://example.com/"), parse: {} };

function method(
  from: Term,
  name: string,
  args: readonly Term[],
  { type, optional }: { type?: string; optional?: boolean } = {},
): Term {
  const run = (of: unknown, ...values: unknown[]): unknown => {
    if (optional && (of === undefined || of === null)) return undefined;
    // Some methods change their list.
    const own = (Array.isArray(of) ? [...(of as unknown[])] : of) as Record<string, (...values: unknown[]) => unknown>;
    return type === "NewExpression" ? Reflect.construct(own[name]!, values) : own[name]!(...values);
  };
  const over = (list: Term): Term => ({ sample: SAMPLES[name], ...operation(run, methodBack(name), [list, ...args]) });
  if (args[0]?.apply) return overItems(over(from), { list: from, test: args[0], over });
  return name === "max" || name === "min" ? joined(over(from), args, (wanted) => args.map(() => wanted)) : over(from);
}

/** The text of all parts. A wanted text is split where its constant parts are. */
function text(parts: readonly Term[]): Term {
  const open = parts.filter(({ isConstant }) => !isConstant);
  const pattern = parts.map((part) => (part.isConstant ? RegExp.escape(String(valueOf(part))) : "(.*?)")).join("");
  const split = (wanted: unknown) => new RegExp(`^${pattern}$`, "s").exec(String(wanted))?.slice(1) ?? [];
  const join = (...values: unknown[]) => values.map(String).join("");
  // One part, where the others have their present values.
  const back: Back = (wanted, i, values) => {
    const [before, after] = [join(...values.slice(0, i)), join(...values.slice(i + 1))];
    const own = String(wanted).slice(before.length, String(wanted).length - after.length);
    return [own, Number(own)];
  };
  return joined(operation(join, back, parts), open, split);
}
