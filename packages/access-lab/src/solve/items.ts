import { satisfy } from "./satisfy.ts";
import { constant, type Draft, member, passes, type Term, waysTo } from "./terms.ts";

/** Items of one list whose test is tried. */
const MOST_ITEMS = 20;

/** A method that calls the owner's `test` for the items of a list, such as `some` or `filter`. */
export function overItems(
  term: Term,
  { list, test, over }: { list: Term; test: Term; over: (list: Term) => Term },
): Term {
  return {
    ...term,
    *to(goal, call) {
      const items = list.of(call);
      if (items !== undefined && !Array.isArray(items)) return;
      const count = Math.min(items?.length ?? 0, MOST_ITEMS);
      for (let i = 0; i <= count; i++)
        for (const truth of [true, false]) {
          const item = list.isConstant && i < count ? constant(items![i]) : member(list, constant(i));
          for (const made of firstWith(test.apply!([item, constant(i)]), truth, call)) {
            if (passes(goal, term.of(made))) yield made;
            const one: unknown = (list.of(made) as unknown[])[i];
            // As many as the result should have.
            const lists = goal.tries.flatMap((wanted) => (Array.isArray(wanted) ? [wanted.map(() => one)] : []));
            const tries = [[one], [...(items ?? []), one] as unknown[], ...lists];
            yield* list.to({ tries, test: (value) => passes(goal, over(constant(value)).of(made)) }, made);
          }
        }
    },
  };
}

function firstWith(condition: Term, truth: boolean, call: Draft): Draft[] {
  return [...waysTo(condition, truth)].flatMap(({ steps }) => [...Iterator.from(satisfy(steps, call)).take(1)]);
}
