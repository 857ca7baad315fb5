import { type JsonValue, isJsonObject } from "@patchbay/kit";
import { memberOf } from "./language.ts";
import { choose, constantLeaf, type Form, leaf, negate } from "./normal.ts";

/** The value of code that cannot be followed, such as a read of the clock. */
export const UNKNOWN = Symbol("unknown");
/** The value of code that throws. */
export const FAILED = Symbol("failed");

/** A call that is being made. Its role is only a choice between branches, because all roles are judged. */
export interface Draft {
  input: JsonValue;
  context: JsonValue;
  role?: string;
}

/** The values that code should have, and some to try. A value that nothing is known of passes. */
export interface Goal {
  test: (value: unknown) => boolean;
  tries: readonly unknown[];
}

/** What code computes from a call, and the way back: calls like a given one for which it computes another value. */
export interface Term {
  of(call: Draft): unknown;
  to(goal: Goal, call: Draft): Iterable<Draft>;
  /** The conditions that make it true, or false, in each way. Without this it is itself a condition. */
  ways?: (truth: boolean) => Iterable<Way>;
  /** Of a function: its result with arguments, in a call or while its module loads. */
  apply?: (args: readonly Term[], isLoading?: boolean) => Term;
  /** Of an object whose members are known: one of them. */
  field?: (name: string) => Term | undefined;
  place?: Place;
  isConstant?: boolean;
  /** A value to change when the code throws for a call, such as a URL. */
  sample?: unknown;
  /** Undefined if what it computes is not exactly known. */
  form?: Form | undefined;
}

/** A member of the arguments or of the context. */
export interface Place {
  /** Stands for a missing value. */
  initial: unknown;
  values: readonly unknown[];
  accepts: (value: JsonValue) => boolean;
  member: (name: string) => Place;
}

export const ANYWHERE: Place = { initial: undefined, values: [], accepts: () => true, member: () => ANYWHERE };

/** One condition, and the value that it should have. */
export interface Step {
  term: Term;
  truth: boolean;
  /** Only makes other conditions matter, so that a call without it is still worth trying. */
  isSoft?: boolean;
}

/** Conditions that are to hold together, in the order of evaluation. The one in focus is why this way is tried. */
export interface Way {
  steps: Step[];
  focus: Step | undefined;
}

export function constant(value: unknown): Term {
  return { of: () => value, to: () => [], isConstant: true, form: constantLeaf(value) };
}

export const unknown = constant(UNKNOWN);

/** A term whose form is another one, or not known. */
export const inexact = (term: Term, form?: Form): Term => ({ ...term, form });

/** A constant's value. */
export const valueOf = ({ isConstant, of }: Term): unknown => (isConstant ? of({} as Draft) : undefined);

/** A term for the whole call. */
export const root: Term = {
  of: (call) => call,
  to: ({ tries }) => tries as Draft[],
  form: leaf("call", { isObject: true }),
};

/** True if a value may be the wanted one. */
export const passes = ({ test }: Goal, value: unknown): boolean =>
  value === UNKNOWN || (value !== FAILED && test(value));

/** Values with which an argument may give a wanted result, by the argument's index. A test follows, so that guesses are allowed. */
export type Back = (wanted: unknown, index: number, values: readonly unknown[]) => readonly unknown[];

function attempt<T>(run: () => T, failed: T): T {
  try {
    return run();
  } catch (error) {
    return (error === UNKNOWN ? UNKNOWN : failed) as T;
  }
}

/** Values of one argument that are tried with all of another one. */
const MOST_OTHERS = 4;

/** `run` with the values of `args`. */
export function operation(run: (...values: never[]) => unknown, back: Back, args: readonly Term[], form?: Form): Term {
  const result = (values: readonly unknown[]): unknown => {
    if (values.includes(UNKNOWN)) return UNKNOWN;
    return values.includes(FAILED) ? FAILED : attempt(() => run(...(values as never[])), FAILED);
  };
  const valuesOf = (call: Draft) => args.map((arg) => arg.of(call));
  if (args.every(({ isConstant }) => isConstant)) return { ...constant(result(args.map(valueOf))), form };
  /** The values of one argument with which the result is as wanted. */
  function* alone(goal: Goal, call: Draft): Iterable<Draft> {
    const values = valuesOf(call);
    const known = values.map((value, i) => (value === FAILED ? (args[i]!.sample ?? value) : value));
    for (const [i, arg] of args.entries()) {
      if (arg.isConstant) continue;
      const tries = goal.tries.flatMap((wanted) => attempt(() => back(wanted, i, known), []));
      yield* arg.to({ test: (value) => passes(goal, result(values.with(i, value))), tries }, call);
    }
  }
  return {
    form,
    of: (call) => result(valuesOf(call)),
    *to(goal, call) {
      yield* alone(goal, call);
      if (args.length !== 2 || args.some(({ isConstant }) => isConstant)) return;
      // Both sides: another record first, and then what it is compared with.
      for (const arg of args) {
        const was = arg.of(call);
        const other: Goal = { test: (value) => value !== undefined && value !== was, tries: [undefined] };
        for (const next of Iterator.from(arg.to(other, call)).take(MOST_OTHERS)) yield* alone(goal, next);
      }
    },
  };
}

/** A term all of whose parts get their values at once, such as a template. `split`: the parts of a wanted value. */
export function joined(whole: Term, parts: readonly Term[], split: (wanted: unknown) => readonly unknown[]): Term {
  if (whole.isConstant) return whole;
  return {
    ...whole,
    *to(goal, call) {
      yield* whole.to(goal, call);
      for (const wanted of goal.tries) {
        const values = attempt(() => split(wanted), []);
        if (values.length !== parts.length) continue;
        let made: Draft | undefined = call;
        for (const [i, part] of parts.entries()) {
          const is = values[i];
          // A part of a text may be a number.
          const test = (value: unknown) => Object.is(value, is) || String(value) === is;
          if (made !== undefined && !test(part.of(made))) [made] = part.to({ test, tries: [is, Number(is)] }, made);
        }
        if (made !== undefined && made !== call && passes(goal, whole.of(made))) yield made;
      }
    },
  };
}

export function member(object: Term, key: Term, isOptional = false): Term {
  const name = key.isConstant ? String(valueOf(key)) : undefined;
  const own = name === undefined ? undefined : object.field?.(name);
  if (own) return own;
  const read = (from: Readonly<Record<PropertyKey, unknown>> | undefined, of: PropertyKey) =>
    isOptional ? from?.[of] : from![of];
  const form = memberOf(object.form, key.form, isOptional);
  const term = operation(read, memberBack, [object, key], form);
  const place = name === undefined ? undefined : object.place?.member(name);
  return place ? at(place, term) : term;
}

/** A term whose value a call has at a place. */
export function at(place: Place, term: Term): Term {
  return {
    ...term,
    place,
    of: (call) => {
      const value = term.of(call);
      return value === undefined ? place.initial : value;
    },
    *to(goal, call) {
      const test = (value: unknown): boolean =>
        passes(goal, value === undefined ? place.initial : value) &&
        (value === undefined || (isJson(value) && (isJsonObject(value) || place.accepts(value))));
      const tries = [...new Set([...goal.tries, ...place.values])].filter(test);
      yield* term.to({ test, tries }, call);
    },
  };
}

function isJson(value: unknown): value is JsonValue {
  if (Array.isArray(value)) return value.every(isJson);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "object" && value !== null)
    return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJson);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

const padded = (list: readonly unknown[], length: number): unknown[] => [
  ...list,
  ...Array.from({ length: Math.max(0, length - list.length) }, () => list[0] ?? "a"),
];

/** Texts, lists and sets with `length` items. */
function sized(from: unknown, length: number): unknown[] {
  if (typeof from === "string") return [from.slice(0, length).padEnd(length, "a")];
  if (Array.isArray(from) && from.length > 0) return [padded(from.slice(0, length), length)];
  const named = Array.from({ length }, (_, i) => `a${i}`);
  return from instanceof Set
    ? [new Set(named)]
    : [named, named.map(() => 1), named.map(() => ({})), "a".repeat(length)];
}

const LONGEST = 5_000;

const memberBack: Back = (wanted, index, [from, key]) => {
  if (index === 1) return keysOf(from);
  if (key === "length" || key === "size")
    return typeof wanted === "number" && wanted >= 0 && wanted <= LONGEST ? sized(from, wanted) : [];
  if (from instanceof URL) {
    const url = new URL(from);
    if (key === "searchParams") url.search = String(wanted);
    else Object.assign(url, { [key as string]: wanted });
    return [url];
  }
  const i = Number(key);
  const isList = Array.isArray(from) || (from === undefined && Number.isInteger(i));
  if (isList) return [padded((from as unknown[] | undefined) ?? [], i).toSpliced(i, 1, wanted)];
  if (typeof from === "string") return [from.padEnd(i, "a").slice(0, i) + String(wanted) + from.slice(i + 1)];
  const { [key as string]: _, ...rest } = (from ?? {}) as Record<string, unknown>;
  return [wanted === undefined ? rest : { ...rest, [key as string]: wanted }];
};

/** Most keys of records that are tried. */
const MOST_KEYS = 40;

/** The keys that find something in a value. */
export function keysOf(from: unknown): unknown[] {
  if (from instanceof Map || from instanceof Set) return [...from.keys()].slice(0, MOST_KEYS);
  if (Array.isArray(from)) return from.slice(0, MOST_KEYS);
  return isJsonObject(from) ? Object.keys(from).slice(0, MOST_KEYS) : [from];
}

/** What makes a condition true or false, whatever it computes. */
export const truthGoal = (truth: boolean): Goal => ({
  test: (value) => Boolean(value) === truth,
  tries: truth ? [true, "a", 1, ["a"], { a: "a" }] : [false, "", 0, undefined, null],
});

export function* waysTo(term: Term, truth: boolean): Iterable<Way> {
  if (term.ways) return yield* term.ways(truth);
  const step = { term, truth };
  yield { steps: [step], focus: step };
}

export function not(term: Term): Term {
  const negated = operation(
    (value) => !value,
    (wanted) => truthGoal(!wanted).tries,
    [term],
    negate(term.form),
  );
  return negated.isConstant ? negated : { ...negated, ways: (truth) => waysTo(term, !truth) };
}

/** `test ? yes : no`, of which the operators `&&`, `||` and `??` are forms. */
export function choice(test: Term, yes: Term, no: Term): Term {
  const of: Term["of"] = (call) => {
    const value = test.of(call);
    return typeof value === "symbol" ? value : (value ? yes : no).of(call);
  };
  return {
    of,
    form: choose(test.form, yes.form, no.form),
    *to(goal, call) {
      for (const branch of [yes, no]) for (const made of branch.to(goal, call)) if (passes(goal, of(made))) yield made;
    },
    *ways(truth) {
      for (const is of [true, false]) {
        const [taken, other] = is ? [yes, no] : [no, yes];
        // The test matters if the other branch decides otherwise.
        const opposite = { term: other, truth: !truth, isSoft: true };
        const isTest = taken === test;
        if (isTest && is !== truth) continue;
        if (!isTest)
          for (const { steps, focus } of waysTo(taken, truth))
            yield { steps: [{ term: test, truth: is }, ...steps], focus };
        for (const { steps, focus } of waysTo(test, is))
          yield { steps: [...steps, ...(isTest ? [] : [{ term: taken, truth }]), opposite], focus };
      }
    },
  };
}
