import {
  bool,
  branch,
  choose,
  constantLeaf,
  decide,
  each,
  equal,
  equalTo,
  FALSE,
  type Known,
  type Leaf,
  leaf,
  negate,
  over,
  SHORT,
  textOf,
  THROWS,
  TRUE,
  truth,
  UNDEFINED,
} from "./normal.ts";

const isMissing = (one: Leaf): Known => choose(equalTo(one, undefined), TRUE, equalTo(one, null));
/** The form where a value is null or undefined, and where it is not. */
const ifMissing = (one: Leaf, missing: Known, present: Known): Known => choose(isMissing(one), missing, present);
/** Code that needs an object throws without one. */
export const required = (form: Known): Known => over(form, (one) => ifMissing(one, THROWS, UNDEFINED));

const isNumber = ({ type, can }: Leaf): boolean =>
  (type === "number" || type === "integer") && can?.(undefined) === false && !can(null);

/** What an operation gives: it may throw for values that are not scalar. */
const guarded = ({ key }: { key: string }, form: Known, args: readonly Leaf[]): Known =>
  args.every(({ type }) => type !== undefined) ? form : branch({ key: `${key} !` }, form, THROWS);

function ordered(sign: string, one: Leaf, other: Leaf): Known {
  if (sign.startsWith(">")) return ordered(sign.replace(">", "<"), other, one);
  const isKnown = ({ value }: Leaf) => typeof value?.is === "number";
  if (sign === "<=" && [one, other].every((side) => isKnown(side) || isNumber(side)))
    return negate(ordered("<", other, one));
  if (sign === "<" && isNumber(one) && isKnown(other)) return below(one, other.value!.is as number);
  if (sign === "<" && isNumber(other) && isKnown(one)) return above(other, one.value!.is as number);
  const test = { key: `${sign} ${one.key},${other.key}` };
  return guarded(test, decide(test), [one, other]);
}

function below(one: Leaf, given: number): Known {
  const bound = one.type === "integer" ? Math.ceil(given) : given;
  const { minimum, maximum } = one.bounds ?? {};
  if (typeof minimum === "number" && bound <= minimum) return FALSE;
  if (typeof maximum === "number" && bound > maximum) return TRUE;
  return decide({ key: `${one.key} @${bound}`, of: one.key, holds: (value) => (value as number) < bound });
}

function above(one: Leaf, bound: number): Known {
  if (one.type === "integer") return negate(below(one, Math.floor(bound) + 1));
  if (one.can?.(bound) === false) return negate(below(one, bound));
  const { minimum, maximum } = one.bounds ?? {};
  if (typeof maximum === "number" && bound >= maximum) return FALSE;
  if (typeof minimum === "number" && bound < minimum) return TRUE;
  return decide({ key: `${one.key} >${bound}`, of: one.key, holds: (value) => (value as number) > bound });
}

/** An operator of one or two values. */
export function operated(sign: string, forms: readonly Known[], run: (...values: never[]) => unknown): Known {
  if (/^!==?$/.test(sign)) return negate(operated(sign.replace("!", "="), forms, (...values) => !run(...values)));
  return each(forms, (...args) => {
    const [one, other = UNDEFINED] = args as [Leaf, Leaf?];
    if (/^(?:in|instanceof|delete)$/.test(sign)) return undefined;
    if (args.every(({ value }) => value)) return constantLeaf(run(...(args.map(({ value }) => value!.is) as never[])));
    if (sign === "===") return equal(one, other);
    if (sign === "==") return other.value?.is === null ? isMissing(one) : undefined;
    if (/^[<>]/.test(sign) && sign.length < 3 && sign !== "<<" && sign !== ">>") return ordered(sign, one, other);
    return computed(sign, args, sign === "typeof" ? [] : args);
  });
}

/** A scalar that code computes. */
function computed(name: string, args: readonly Leaf[], unsafe = args, type = "scalar"): Known {
  const made = leaf(`${name}(${args.map(({ key }) => key).join()})`, { type });
  return guarded(made, made, unsafe);
}

/** The text of all parts. */
export const joinedText = (parts: readonly Known[]): Known =>
  each(parts, (...all) => {
    const some = all.filter(({ value }) => value?.is !== "");
    const texts = all.map(({ value }) => value && String(value.is));
    if (texts.every((text) => text !== undefined)) return constantLeaf(texts.join(""));
    return computed("text", some, some, "string");
  });

/** The member of an object. */
export const memberOf = (object: Known, key: Known, isOptional: boolean): Known =>
  each([object, key], (from, name) => {
    const facts = typeof name.value?.is === "string" ? from.member?.(name.value.is) : undefined;
    const made = leaf(`${from.key}.${name.key}`, { ...facts, isNew: from.isNew && !from.isFlat });
    const present = guarded(made, made, [name]);
    return from.isObject ? present : ifMissing(from, isOptional ? SHORT : THROWS, present);
  });

/** A value, or another one if it is missing. */
export const defaulted = (form: Known, other: Known): Known =>
  each([form], (one) => choose(equalTo(one, undefined), other, one));

/** The end of an optional chain. */
export const chained = (form: Known): Known => {
  if (form?.test) return branch(form.test, chained(form.yes), chained(form.no));
  return form?.key === SHORT.key ? UNDEFINED : form;
};

/** A list that the code makes, or an object with some names. */
export function made(parts: readonly Known[], names?: readonly string[]): Known {
  const make = (...items: Leaf[]) =>
    leaf(`${names ? JSON.stringify(names) : ""}[${items.map(({ key }) => key).join()}]`, {
      isObject: true,
      isNew: true,
      items: names ? undefined : items,
      isFlat: items.every(({ value }) => value),
    });
  return parts.length === 0 ? make() : each(parts, make);
}

const words = (text: string) => new Set(text.split(" "));
/** Methods and functions of the language that change nothing, by what they give. */
const BOOLEANS = words(
  "includes startsWith endsWith has test hasOwn canParse isInteger isFinite isNaN isArray Boolean",
);
const SCALARS = words(
  "charAt charCodeAt indexOf lastIndexOf substring join toUpperCase toLowerCase trim trimStart trimEnd padStart padEnd " +
    "repeat replace replaceAll toString stringify encodeURIComponent decodeURIComponent encodeURI decodeURI atob btoa " +
    "parseInt parseFloat Number String abs floor ceil round trunc sign max min pow sqrt UTC toISOString getTime " +
    "getUTCFullYear getUTCMonth getUTCDate getUTCDay getUTCHours getUTCMinutes getUTCSeconds",
);
const OTHERS = words(
  "slice split concat flat toSorted toReversed with getAll parse from of keys values entries match exec at get freeze " +
    "find findLast filter Date Set Map URL URLSearchParams",
);
/** They never throw for scalars. */
const SAFE = words(
  "Boolean Number String isInteger isFinite isNaN isArray abs floor ceil round trunc sign max min canParse",
);

/** A call to a method, or to a function that the language has. */
export function called(name: string, forms: readonly Known[], { isOptional = false, isNew = false } = {}): Known {
  return each(forms, (from, ...args) => {
    const [first = UNDEFINED] = args;
    const isOfLanguage = from.key.startsWith("#");
    if (/^(?:keys|values|entries)$/.test(name) && !isOfLanguage) return undefined;
    if (/^(?:test|exec)$/.test(name) && !/\/[dimsuv]*$/.test(from.key)) return undefined;
    if (name === "freeze") return first.isNew && first.isObject ? first : undefined;
    if (isNew !== /^(?:Date|Set|Map|URL|URLSearchParams)$/.test(name)) return undefined;
    const list = name === "includes" ? from.items : name === "has" ? from.members : undefined;
    const isPlain =
      list &&
      (first.value ? !Number.isNaN(first.value.is) : list.every(({ value }) => value && !Number.isNaN(value.is)));
    if (isPlain) return list.reduceRight<Known>((rest, item) => choose(equal(first, item), TRUE, rest), FALSE);
    const isCompared = BOOLEANS.has(name) || name.endsWith("ndexOf");
    if (isCompared && !isOfLanguage && args.some((arg) => arg.isNew)) return undefined;
    const key = `${from.key}.${name}(${args.map((arg) => arg.key).join()})`;
    const isText = from.type === "string" && name in String.prototype && !/^(?:repeat|pad)/.test(name);
    const unsafe = isText || (isOfLanguage && SAFE.has(name)) ? args : [leaf("", {})];
    const result = BOOLEANS.has(name)
      ? decide({ key })
      : SCALARS.has(name)
        ? leaf(key, { type: "scalar" })
        : OTHERS.has(name)
          ? leaf(key, {
              isObject: isNew,
              isNew: from.isNew || (name !== "get" && !isText),
              ...(name === "Set" && { members: first.items, isFlat: first.isFlat === true }),
            })
          : undefined;
    const present = guarded({ key }, result, unsafe);
    return from.isObject ? present : ifMissing(from, isOptional ? SHORT : THROWS, present);
  });
}

let nested = 0;

/** `some`, `find` and others with the owner's test of an item and its index. */
export function calledFor(name: string, list: Known, test: (item: Known, index: Known) => Known): Known {
  const items = list?.test ? undefined : list?.items;
  const isSome = name === "some";
  if (items && (isSome || name === "every"))
    return items.reduceRight<Known>(
      (rest, item, i) => choose(test(item, constantLeaf(i)), isSome ? TRUE : rest, isSome ? rest : FALSE),
      bool(!isSome),
    );
  nested++;
  const form = truth(test(leaf(`item ${nested}`), leaf(`index ${nested}`, { type: "number" })));
  nested--;
  return form && called(name, [list, leaf(`=> ${textOf(form)}`)]);
}
