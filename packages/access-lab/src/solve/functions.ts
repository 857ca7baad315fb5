import { compileFunction } from "node:vm";
import type { Node } from "estree";
import { methodBack, operatorBack } from "./inverses.ts";
import { overItems } from "./items.ts";
import { called, calledFor, joinedText, made, operated } from "./language.ts";
import { after, type Form } from "./normal.ts";
import { type Back, inexact, joined, operation, type Term, unknown, valueOf } from "./terms.ts";

/** The operands of `a + b + c`. */
export const flat = (node: Node): Node[] =>
  node.type === "BinaryExpression" && node.operator === "+" ? [...flat(node.left), ...flat(node.right)] : [node];

export function operator(sign: string, args: readonly Term[]): Term {
  const run = compileFunction(args.length === 1 ? `return ${sign} a` : `return a ${sign} b`, ["a", "b"]);
  const form = operated(
    sign,
    args.map((arg) => arg.form),
    run as () => unknown,
  );
  return operation(run as () => unknown, operatorBack(sign), args, form);
}

/** What is found, or changed, when a call makes the code throw. */
const SAMPLES: Readonly<Record<string, unknown>> = { URL: new URL("https://example.com/"), parse: {} };

export function method(
  from: Term,
  name: string,
  args: readonly Term[],
  { isOptional = false, isNew = false }: { isOptional?: boolean; isNew?: boolean } = {},
): Term {
  const run = (of: unknown, ...values: unknown[]): unknown => {
    if (isOptional && (of === undefined || of === null)) return undefined;
    // Some methods change their list.
    const own = (Array.isArray(of) ? [...(of as unknown[])] : of) as Record<string, (...values: unknown[]) => unknown>;
    return isNew ? Reflect.construct(own[name]!, values) : own[name]!(...values);
  };
  const forms = [from, ...args].map(({ form }) => form);
  const form = called(name, forms, { isOptional, isNew });
  const over = (list: Term): Term => ({
    sample: SAMPLES[name],
    ...operation(run, methodBack(name), [list, ...args], form),
  });
  const test = args[0]?.apply;
  if (test) {
    const testOf = (item: Form | undefined, index: Form | undefined) =>
      test([inexact(unknown, item), inexact(unknown, index), from]).form;
    const found = args.length === 1 && !isNew && !isOptional ? calledFor(name, from.form, testOf) : undefined;
    return overItems(inexact(over(from), found), { list: from, test: args[0]!, over });
  }
  return name === "max" || name === "min" ? joined(over(from), args, (wanted) => args.map(() => wanted)) : over(from);
}

/** The text of all parts. A wanted text is split where its constant parts are. */
export function text(parts: readonly Term[]): Term {
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
  const form = joinedText(parts.map((part) => part.form));
  return joined(operation(join, back, parts, form), open, split);
}

/** A list of values. */
export function list(parts: readonly Term[]): Term {
  const form = made(parts.map((part) => part.form));
  const whole = operation(
    (...values: unknown[]) => values,
    (wanted, i) => [(wanted as unknown[])[i]],
    parts,
    form,
  );
  return joined(whole, parts, (wanted) => wanted as unknown[]);
}

/** An object with members by name. `isPlain`: it has no other ones, such as accessors. */
export function object(members: ReadonlyMap<string, Term>, isPlain: boolean): Term {
  const [names, parts] = [[...members.keys()], [...members.values()]];
  const make = (...values: unknown[]) => Object.fromEntries(values.map((value, i) => [names[i]!, value]));
  const split = (wanted: unknown) => names.map((name) => (wanted as Record<string, unknown>)[name]);
  const forms = parts.map(({ form }) => form);
  const whole = operation(make, (wanted, i) => [split(wanted)[i]], parts, isPlain ? made(forms, names) : undefined);
  return { ...joined(whole, parts, split), field: (name) => members.get(name) };
}

/** A term that has its value after other code, which may throw. So have its members, and its results. */
export function behind(before: readonly (Form | undefined)[], term: Term): Term {
  const { field, apply } = term;
  const own = (part: Term | undefined) => part && behind(before, part);
  return {
    ...inexact(term, after(before, term.form)),
    ...(field && { field: (name) => own(field(name)) }),
    ...(apply && { apply: (args, isLoading) => behind(before, apply(args, isLoading)) }),
  };
}
