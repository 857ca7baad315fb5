import { isReference } from "./evidence.ts";
import { fill, type Filling, type Sources } from "./fill.ts";
import type { KnownFunction } from "./function-set.ts";
import type { Parameter } from "./parameters.ts";
import { conceptOf, stem } from "./words.ts";

/** A function that may tell what another one needs, and what it is called with. */
export interface Source {
  fn: KnownFunction;
  filling: Filling;
}

const ID = conceptOf(stem("id"));
const MAX_LINKS = 4;

/**
 * The calls to make first so that `parameter` of `fn` becomes known: the best function that yields it and can be called
 * now, or what that one needs in turn. Undefined when nothing leads there that was not tried.
 */
export function findSource(
  fn: KnownFunction,
  parameter: Parameter,
  sources: Sources,
  tried: (source: Source) => boolean,
  path: readonly KnownFunction[] = [fn],
): Source | undefined {
  if (
    path.length > MAX_LINKS ||
    ["name", "first_name", "last_name", "expression", "text", "search"].includes(parameter.kind)
  )
    return undefined;
  const about = parameter.entity.length > 0 ? parameter.entity : [...fn.objects];
  const links = sources.set.functions
    .filter((other) => other.readOnly && !path.includes(other) && other.parameters.every((own) => own.kind !== "text"))
    .map((other) => ({
      other,
      yields: rateYield(other, about, parameter),
      filling: fill(other, sources, { useResults: true }),
    }))
    .filter(({ yields, filling }) => !filling.wholeText && (yields > 0 || tellsSomething(filling)))
    .toSorted((a, b) => rank(b) - rank(a));
  for (const { other, filling } of links) {
    const ready = { fn: other, filling };
    if (filling.missing.length === 0) {
      if (!tried(ready)) return ready;
      continue;
    }
    const [first, ...more] = filling.missing;
    if (!first || more.length > 0) continue;
    const before = findSource(other, first, sources, tried, [...path, other]);
    if (before) return before;
  }
  return undefined;
}

const rank = ({ yields, filling }: { yields: number; filling: Filling }) =>
  yields + (filling.missing.length === 0 ? 1.5 : 0) + Math.min(filling.strong, 2) - filling.missing.length;

/** True where the query itself (or a result) speaks for the call, so that trying it is no shot in the dark. */
const tellsSomething = (filling: Filling) => filling.missing.length === 0 && (filling.strong > 0 || filling.chained);

/** How plainly a function's words say that it yields what a parameter is about. */
function rateYield(other: KnownFunction, about: readonly string[], parameter: Parameter): number {
  if (about.length === 0) return 0;
  const named = about.filter((concept) => other.objects.has(concept)).length / about.length;
  const says = about.filter((concept) => other.described.has(concept)).length / about.length;
  const needsItself = other.parameters.some((own) => own.required && own.entity.join() === parameter.entity.join());
  if (needsItself) return 0;
  if (!isReference(parameter) && named < 1 && says < 1) return 0;
  return named * (other.objects.has(ID) ? 3 : 2) + says;
}
