import { inspect } from "node:util";
import { hashOf } from "../code/forms.ts";

/**
 * What code computes from a call, as a tree of tests with values at its ends. Tests have one order and none is there
 * twice, so that code which decides equally has one form: names, De Morgan, early returns and extracted functions do not
 * count. Undefined wherever a form is not known.
 */
export type Form = Leaf | Split;

export interface Leaf {
  key: string;
  test?: undefined;
  /** A text, number, boolean, null or undefined that is known. */
  value?: { is: unknown } | undefined;
  /** The values in a list, and in a set. */
  items?: readonly Leaf[] | undefined;
  members?: readonly Leaf[] | undefined;
  /** The type of a value that is not an object, and may be missing. `scalar`: one of several. */
  type?: string | undefined;
  /** False for a value that the schema excludes. */
  can?: ((value: unknown) => boolean) | undefined;
  /** The schema of a number. */
  bounds?: Bounds | undefined;
  /** Never null and undefined, and never equal to a text or number. */
  isObject?: boolean;
  /** The code makes another object each time, so that it matters which one is compared. */
  isNew?: boolean | undefined;
  /** It is made of constants only. */
  isFlat?: boolean;
  /** In a call: the facts about its members. */
  member?: ((name: string) => Facts | undefined) | undefined;
}

interface Split {
  key: string;
  test: Test;
  yes: Form;
  no: Form;
  size: number;
}

/** What the schema says about a call's member. */
export type Facts = Pick<Leaf, "type" | "can" | "bounds" | "member" | "isObject">;
type Bounds = { minimum?: unknown; maximum?: unknown };
export type Known = Form | undefined;

/** A question with two answers. `of`: the one value that it is about. */
interface Test {
  key: string;
  of?: string;
  holds?: (value: unknown) => boolean;
  equals?: { is: unknown };
}

/** Tests in one form. With more it takes too long. */
const MOST = 400;

export const leaf = (key: string, rest: Omit<Leaf, "key"> = {}): Leaf => ({
  key: key.length > 100 ? hashOf(key) : key,
  ...rest,
});

const written = (value: unknown): string => inspect(value, { maxStringLength: Infinity });

export const constantLeaf = (value: unknown): Leaf | undefined =>
  /^(?:string|number|boolean|undefined)$/.test(typeof value) || value === null
    ? leaf(written(value), { value: { is: value }, type: typeof value })
    : undefined;

export const TRUE = constantLeaf(true)!;
export const FALSE = constantLeaf(false)!;
export const UNDEFINED = constantLeaf(undefined)!;
/** The code throws. */
export const THROWS = leaf("throws");
/** The rest of an optional chain is left out. */
export const SHORT = leaf("short");
export const bool = (truth: boolean) => (truth ? TRUE : FALSE);

/** The form that has for each value in another form what follows from it. */
export function over(form: Known, next: (value: Leaf) => Known, onThrow: Known = THROWS): Known {
  if (form === undefined) return undefined;
  if (form.test) return branch(form.test, over(form.yes, next, onThrow), over(form.no, next, onThrow));
  if (form.key === THROWS.key) return onThrow;
  return form.key === SHORT.key ? form : next(form);
}

/** What is computed from the values in several forms, in their evaluation order. */
export function each([first, ...rest]: readonly Known[], make: (...values: Leaf[]) => Known): Known {
  if (first === undefined) return undefined;
  return over(first, (one) => (rest.length === 0 ? make(one) : each(rest, (...others) => make(one, ...others))));
}

/** What code does after some expressions, which may throw. */
export const after = (before: readonly Known[], form: Known): Known =>
  before.length === 0 ? form : each(before, () => form);

export function branch(test: Test, yes: Known, no: Known): Known {
  if (yes === undefined || no === undefined) return undefined;
  const tests = [test, yes.test, no.test].filter((one) => one !== undefined);
  const first = tests.reduce((least, one) => (one.key < least.key ? one : least));
  const side = (form: Form, truth: boolean) =>
    form.test?.key !== first.key ? form : truth ? (form as Split).yes : (form as Split).no;
  if (first.key === test.key) return node(test, side(yes, true), side(no, false));
  const under = (truth: boolean) => branch(test, side(yes, truth), side(no, truth));
  return node(first, under(true), under(false));
}

function node(test: Test, yes: Known, no: Known): Known {
  if (yes === undefined || no === undefined) return undefined;
  const made = assume(yes, test);
  const same = assume(no, test);
  // The test is not needed if the other side decides the same where it holds.
  if (made === undefined || made.key === same?.key) return made && no;
  const size = (made.test ? made.size : 1) + (no.test ? no.size : 1);
  return size > MOST ? undefined : { key: shortOf(`${test.key}?${made.key}:${no.key}`), test, yes: made, no, size };
}

/** Short keys: equal for equal forms in one process. A hash would take longer than all other work. */
const KEYS = new Map<string, string>();

function shortOf(text: string): string {
  const key = KEYS.get(text) ?? `§${KEYS.size}`;
  KEYS.set(text, key);
  return key;
}

/** A text that is equal for equal forms, also in another process. */
export const textOf = (form: Form): string =>
  form.test ? hashOf(`${form.test.key}?${textOf(form.yes)}:${textOf(form.no)}`) : form.key;

/** A form where a value equals a constant: other tests on the value are then known. */
function assume(form: Form, test: Test): Known {
  if (test.equals === undefined || form.test === undefined) return form;
  const { yes, no } = form;
  if (form.test.of === test.of && form.test.holds) return assume(form.test.holds(test.equals.is) ? yes : no, test);
  const [a, b] = [assume(yes, test), assume(no, test)];
  return a === yes && b === no ? form : node(form.test, a, b);
}

export const decide = (test: Test): Known => branch(test, TRUE, FALSE);
export const choose = (test: Known, yes: Known, no: Known): Known =>
  over(truth(test), ({ value }) => (value!.is ? yes : no));
export const negate = (form: Known): Known => choose(form, FALSE, TRUE);

export function truth(form: Known): Known {
  return over(form, (one) => {
    if (one.value) return bool(Boolean(one.value.is));
    return one.isObject ? TRUE : decide({ key: `${one.key} ?`, of: one.key, holds: Boolean });
  });
}

export function equalTo(one: Leaf, is: unknown): Known {
  if (one.value) return bool(one.value.is === is);
  if (one.isObject || one.can?.(is) === false) return FALSE;
  if (one.type === "boolean" && one.can?.(undefined) === false && is === true) return truth(one);
  if (one.type === "boolean" && one.can?.(undefined) === false && is === false) return negate(one);
  return decide({ key: `${one.key} =${written(is)}`, of: one.key, holds: (value) => value === is, equals: { is } });
}

export function equal(one: Leaf, other: Leaf): Known {
  if (other.value) return equalTo(one, other.value.is);
  if (one.value) return equalTo(other, one.value.is);
  if (one.isNew || other.isNew || one.key === other.key) return undefined;
  return decide({ key: `=== ${[one.key, other.key].sort().join()}` });
}
