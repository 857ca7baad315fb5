import { type Manifest, type Widening, widenings } from "@patchbay/protocol";

/** Whether a role may call a function at all: a run has decided that by its own set. */
const DECIDED: ReadonlySet<string> = new Set(["roles", "function", "defaultRole"] satisfies Widening["kind"][]);

/** Compares function sets. Sets do not change, so that each pair is compared once. */
export interface Comparison {
  /** What `after` allows and `before` does not. */
  between(before: Manifest, after: Manifest): readonly Widening[];
  /** True when a role that may call the function under `own` can do and see no more with it under `other`. */
  keepsTo(own: Manifest, other: Manifest, functionName: string): boolean;
}

export function createComparison(): Comparison {
  const known = new WeakMap<Manifest, WeakMap<Manifest, readonly Widening[]>>();

  function between(before: Manifest, after: Manifest): readonly Widening[] {
    if (before === after) return [];
    const ofBefore = known.get(before) ?? new WeakMap<Manifest, readonly Widening[]>();
    known.set(before, ofBefore);
    const found = ofBefore.get(after) ?? widenings(before, after);
    ofBefore.set(after, found);
    return found;
  }

  return {
    between,
    keepsTo(own, other, functionName) {
      const has = ({ functions }: Manifest): boolean => functions.some(({ name }) => name === functionName);
      if (!has(own) || !has(other)) return false;
      const concerns = (one: Widening): boolean => one.functionName === undefined || one.functionName === functionName;
      return between(own, other).every((one) => DECIDED.has(one.kind) || !concerns(one));
    },
  };
}
