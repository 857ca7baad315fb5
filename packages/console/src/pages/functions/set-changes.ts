import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";

/** One member that two sets have differently; undefined where it is not there. */
export interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

export interface FunctionChange {
  name: string;
  kind: "added" | "removed" | "changed";
  differences: Difference[];
}

export interface SetChanges {
  /** Of the service itself. */
  service: Difference[];
  /** By name; those that are alike are left out. */
  functions: FunctionChange[];
}

/** What is compared of a function, in the order of how much it matters to its callers. */
const FACTS = [
  "roles",
  "effect",
  "conditional",
  "idempotent",
  "timeoutMs",
  "protectedMembers",
  "redactions",
  "description",
  "inputSchema",
  "keepsUnlisted",
  "outputSchema",
] as const satisfies (keyof ConsoleFunction)[];

/** What became different from one function set to another. */
export function changesOf(before: FunctionSet, after: FunctionSet): SetChanges {
  const old = new Map(before.functions.map((one) => [one.name, one]));
  const names = new Set([...old.keys(), ...after.functions.map(({ name }) => name)]);
  const now = new Map(after.functions.map((one) => [one.name, one]));
  const functions = [...names]
    .toSorted()
    .map((name) => changeOf(name, old.get(name), now.get(name)))
    .filter((change) => change !== undefined);
  const service = (["service", "instructions", "defaultRole", "roles"] as const).flatMap((fact) =>
    differencesOf(before[fact], after[fact], fact),
  );
  return { service, functions };
}

function changeOf(
  name: string,
  before: ConsoleFunction | undefined,
  after: ConsoleFunction | undefined,
): FunctionChange | undefined {
  const differences = FACTS.flatMap((fact) => differencesOf(before?.[fact], after?.[fact], fact));
  if (!before || !after) return { name, kind: before ? "removed" : "added", differences: [] };
  return differences.length === 0 ? undefined : { name, kind: "changed", differences };
}

/** Every place in which two JSON values differ. Lists are compared as a whole when they hold scalars: their order seldom says anything. */
export function differencesOf(before: unknown, after: unknown, path: string): Difference[] {
  if (Object.is(before, after)) return [];
  if (isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    if (Array.isArray(before) && ![...before, ...(after as unknown[])].some(isBranch))
      return sameMembers(before, after as unknown[]) ? [] : [{ path, before, after }];
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => differencesOf(member(before, name), member(after, name), `${path}.${name}`));
  }
  return [{ path, before, after }];
}

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

const member = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;

function sameMembers(a: readonly unknown[], b: readonly unknown[]): boolean {
  const sorted = (list: readonly unknown[]) => list.map((one) => JSON.stringify(one)).toSorted();
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}
