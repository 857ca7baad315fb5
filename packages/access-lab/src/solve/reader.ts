import type { Variable } from "eslint-scope";
import type {
  ArrowFunctionExpression,
  NewExpression,
  Node,
  Pattern,
  Property,
  SimpleCallExpression,
  VariableDeclaration,
} from "estree";
import { sourceOf } from "../code/forms.ts";
import { type Module, nameOf } from "../code/modules.ts";
import { behind, flat, list, method, object, operator, text } from "./functions.ts";
import { GLOBALS } from "./inverses.ts";
import { chained, defaulted, required } from "./language.ts";
import { DEPTH, isFixed, localsOf, type Names, type Scope } from "./names.ts";
import { after, type Form, leaf, THROWS } from "./normal.ts";
import {
  ANYWHERE,
  at,
  choice,
  constant,
  FAILED,
  inexact,
  member,
  not,
  type Term,
  unknown,
  UNKNOWN,
  valueOf,
} from "./terms.ts";

/** The variables of each module by the nodes that name them. */
const VARIABLES = new WeakMap<Module, ReadonlyMap<unknown, Variable | null>>();

/** Reads code as terms. What it cannot follow is `unknown`. */
export class Reader {
  readonly #names: Names;
  readonly #replaced: ReadonlyMap<Node, Node>;

  /** `replaced`: code that another one replaces, in a mutant. */
  constructor(names: Names, replaced: ReadonlyMap<Node, Node> = new Map()) {
    this.#names = names;
    this.#replaced = replaced;
  }

  /** A function as a term that is applied to its arguments. */
  function(module: Module, node: Node, scope: Scope = { module, values: new Map(), depth: 0 }): Term {
    const { params, body, expression, async, generator } = node as ArrowFunctionExpression;
    const apply = (args: readonly Term[], isLoading = false): Term => {
      if (scope.depth >= DEPTH) return unknown;
      const values = new Map(scope.values);
      for (const variable of localsOf(module, node)) values.set(variable, unknown);
      const inner = { module, values, depth: scope.depth + 1, isLoading };
      const before = args.filter((arg) => !arg.apply).map(({ form }) => form);
      for (const [i, param] of params.entries())
        before.push(...this.bind(param, args[i] ?? constant(undefined), inner));
      const made =
        expression || body.type !== "BlockStatement" ? this.read(body, inner) : this.#block(body.body, inner);
      // Who does not wait for an asynchronous function gets a promise.
      const isAwaited = !generator && !(async && scope.depth > 0);
      return isLoading && isAwaited ? made : behind(isAwaited ? before : [undefined], made);
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

  /** Gives variables their values. Returns the forms of what this evaluates. */
  bind(pattern: Pattern, value: Term, scope: Scope): (Form | undefined)[] {
    if (pattern.type === "Identifier") {
      const variable = this.#variable(scope.module, pattern);
      if (variable) scope.values.set(variable, value);
      return value.apply ? [] : [value.form];
    }
    if (pattern.type === "AssignmentPattern") {
      const initial = this.read(pattern.right, scope);
      const term = at({ ...(value.place ?? ANYWHERE), initial: valueOf(initial) }, value);
      return this.bind(pattern.left, inexact(term, defaulted(value.form, initial.form)), scope);
    }
    if (pattern.type !== "ObjectPattern") return [undefined];
    return [
      required(value.form),
      ...pattern.properties.flatMap((property) =>
        property.type === "RestElement"
          ? this.bind(property.argument, inexact(value), scope)
          : this.bind(property.value, member(value, this.#key(property, scope)), scope),
      ),
    ];
  }

  #key({ key, computed }: Pick<Property, "key" | "computed">, scope: Scope): Term {
    return computed ? this.read(key, scope) : constant(nameOf(key));
  }

  /** What statements return. */
  #block([first, ...rest]: readonly Node[], scope: Scope): Term {
    if (first === undefined) return constant(undefined);
    if (first.type === "ReturnStatement")
      return first.argument ? this.read(first.argument, scope) : constant(undefined);
    if (first.type === "ThrowStatement") {
      // An owner's error is not followed, but its arguments are.
      const { argument: error } = first;
      const parts =
        error.type === "NewExpression" && error.callee.type === "Identifier" && error.callee.name.endsWith("Error")
          ? error.arguments
          : [error];
      const forms = parts.map((part) => this.read(part, scope).form);
      return inexact(constant(FAILED), after(forms, THROWS));
    }
    if (first.type === "BlockStatement") return this.#block([...first.body, ...rest], scope);
    if (first.type === "TryStatement") return inexact(this.#block([...first.block.body, ...rest], scope));
    if (first.type === "VariableDeclaration") {
      const before = this.#declare(first, scope);
      const made = this.#block(rest, scope);
      return scope.isLoading ? made : behind(before, made);
    }
    if (first.type === "ExpressionStatement") {
      const { form } = this.read(first.expression, scope);
      const made = this.#block(rest, scope);
      return scope.isLoading ? made : behind([form], made);
    }
    if (first.type === "IfStatement") {
      const [yes, no] = [first.consequent, first.alternate].map((some) =>
        this.#branch(some ? [some, ...rest] : rest, scope),
      );
      return choice(this.read(first.test, scope), yes!, no!);
    }
    if (first.type === "SwitchStatement") {
      const { discriminant, cases } = first;
      const value = this.read(discriminant, scope);
      const from = (i: number): Term => {
        const all = cases.slice(i).flatMap(({ consequent }) => consequent);
        const end = all.findIndex(({ type }) => type === "BreakStatement");
        return this.#branch([...(end === -1 ? all : all.slice(0, end)), ...rest], scope);
      };
      const other = cases.findIndex(({ test }) => !test);
      return cases.reduceRight(
        (no, { test }, i) => (test ? choice(operator("===", [value, this.read(test, scope)]), from(i), no) : no),
        from(other === -1 ? cases.length : other),
      );
    }
    // A loop may do anything.
    if (/^(?:For|While|DoWhile|Labeled)/.test(first.type)) return unknown;
    const made = this.#block(rest, scope);
    return /^(?:Empty|FunctionD)/.test(first.type) ? made : inexact(made);
  }

  /** One of several blocks, in which variables of the others have no values. */
  #branch(statements: readonly Node[], scope: Scope): Term {
    return this.#block(statements, { ...scope, values: new Map(scope.values) });
  }

  /** Binds local constants, and returns the forms of their initial values. */
  #declare({ declarations }: VariableDeclaration, scope: Scope): (Form | undefined)[] {
    return declarations.flatMap((declaration) => {
      const { id, init } = declaration;
      const variables = scope.module.scopes.getDeclaredVariables(declaration);
      if (init && variables.every((variable) => isFixed(scope.module, variable)))
        return this.bind(id, this.read(init, scope), scope);
      for (const variable of variables) scope.values.set(variable, unknown);
      return init ? [undefined] : [];
    });
  }

  /** Reads code, or what replaces it in a mutant. */
  read(given: Node, scope: Scope): Term {
    const node = this.#replaced.get(given) ?? given;
    const read = (part: Node) => this.read(part, scope);
    switch (node.type) {
      case "Literal":
        return "regex" in node && node.regex
          ? inexact(
              constant(new RegExp(node.regex.pattern, node.regex.flags)),
              leaf(node.raw!, { isObject: true, isNew: true, isFlat: true }),
            )
          : constant(node.value);
      case "Identifier":
        return this.#name(node, scope);
      case "AwaitExpression":
        return read(node.argument);
      case "ChainExpression": {
        const whole = read(node.expression);
        return inexact(whole, chained(whole.form));
      }
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
        if (first?.type === "SpreadElement") return inexact(method(constant(Array), "from", [read(first.argument)]));
        const parts = node.elements.map((item) => (item ? read(item) : unknown));
        return list(parts);
      }
      case "ObjectExpression":
        return this.#object(node.properties, scope);
      case "MemberExpression": {
        const key = node.computed ? read(node.property) : constant(nameOf(node.property));
        const object = read(node.object);
        const found = member(object, key, node.optional);
        return scope.isLoading ? inexact(found) : isNamed(node.object) ? found : behind([object.form], found);
      }
      case "NewExpression":
      case "CallExpression":
        return this.#call(node, scope);
      default:
        return unknown;
    }
  }

  #call(node: SimpleCallExpression | NewExpression, scope: Scope): Term {
    const args = node.arguments.map((part) => this.read(part, scope));
    const { callee } = node;
    const isNew = node.type === "NewExpression";
    const isLater = scope.isLoading && !node.arguments.every(({ type }) => /^(?:Lit|Arr|Obj)/.test(type));
    const exact = (term: Term) => (isLater || ("optional" in node && node.optional) ? inexact(term) : term);
    if (callee.type === "Identifier" && !this.#variable(scope.module, callee))
      return this.read(callee, scope) === unknown || (callee.name === "Date" && args.length === 0)
        ? unknown
        : exact(method(inexact(constant(GLOBALS), LANGUAGE), callee.name, args, { isNew }));
    const follow = (term: Term | undefined) => (isNew ? undefined : term?.apply?.(args, scope.isLoading));
    if (callee.type !== "MemberExpression") return follow(this.read(callee, scope)) ?? unknown;
    if (callee.computed) return unknown;
    const name = nameOf(callee.property);
    const object = this.read(callee.object, scope);
    const followed = follow(object.field?.(name));
    if (followed) return scope.isLoading || isNamed(callee.object) ? followed : behind([object.form], followed);
    return exact(method(object, name, args, { isOptional: callee.optional, isNew }));
  }

  #object(properties: readonly Node[], scope: Scope): Term {
    const parts = properties.map((one): [string, Term] =>
      one.type === "Property" && one.kind === "init"
        ? [String(valueOf(this.#key(one, scope))), this.read(one.value, scope)]
        : ["", unknown],
    );
    const members = new Map(parts);
    const isPlain = properties.every((one) => one.type === "Property" && !one.computed);
    return object(members, isPlain && members.size === parts.length && !members.has("__proto__") && !members.has(""));
  }

  #name(node: Node & { type: "Identifier" }, scope: Scope): Term {
    const variable = this.#variable(scope.module, node);
    const reference = scope.module.references.find(({ identifier }) => identifier === node);
    if (reference && sourceOf(scope.module, reference) !== undefined)
      return variable ? this.#names.stored(unknown, { module: scope.module, variable }, scope) : unknown;
    if (variable) return this.#names.value(scope.module, variable, scope, this);
    if (!Object.hasOwn(GLOBALS, node.name)) return unknown;
    const term = constant(GLOBALS[node.name]);
    return inexact(term, term.form ?? leaf(`#${node.name}`, { isObject: true }));
  }

  /** The variable that a name declares or refers to. */
  #variable(module: Module, node: Node): Variable | undefined {
    const all = module.scopes.scopes.flatMap(({ variables }) => variables);
    const known =
      VARIABLES.get(module) ??
      new Map<unknown, Variable | null>([
        ...all.flatMap((one) => one.identifiers.map((name) => [name, one] as const)),
        ...module.references.map(({ identifier, resolved }) => [identifier, resolved] as const),
      ]);
    VARIABLES.set(module, known);
    return known.get(node) ?? undefined;
  }
}

const LANGUAGE = leaf("#", { isObject: true });

/** True for an expression that names a value, so that nothing is evaluated. */
const isNamed = ({ type }: Node): boolean => type === "Identifier" || type === "MemberExpression";
