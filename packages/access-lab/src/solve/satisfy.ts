import { type Draft, passes, type Step, truthGoal } from "./terms.ts";

const ATTEMPTS = 400;
/** Values, or ways, that are tried for one condition on the way to others. */
const BRANCHES = 6;

function holds({ term, truth }: Step, call: Draft): boolean {
  const value = term.of(call);
  // A text refuses, and says why.
  return (term.isConstant && typeof value === "string") || passes(truthGoal(truth), value);
}

/** Calls like `call` for which all steps hold. Repairs the first step that does not, until all do. */
export function* satisfy(
  steps: readonly Step[],
  call: Draft,
  left = { attempts: ATTEMPTS },
  depth = 0,
): Iterable<Draft> {
  const open = steps.find((step) => !holds(step, call));
  if (open === undefined) return yield call;
  if (depth > steps.length + 3) return;
  for (const next of Iterator.from(repairs(open, call, left)).take(BRANCHES)) {
    if (left.attempts-- <= 0) return;
    yield* satisfy(steps, next, left, depth + 1);
  }
}

function* repairs({ term, truth }: Step, call: Draft, left: { attempts: number }): Iterable<Draft> {
  if (!term.ways) return yield* term.to(truthGoal(truth), call);
  // The first call in each way, because a way may contradict the other steps.
  for (const { steps } of term.ways(truth)) {
    if (left.attempts <= 0) return;
    yield* Iterator.from(satisfy(steps, call, left)).take(1);
  }
}
