import { canonicalJson } from "@patchbay/kit";
import type { Call } from "./exchange.ts";

interface Side {
  calls: readonly Call[];
  /** The caller, as remarks name it. */
  name: string;
}

/**
 * Compares the calls in two runs with the same query. Returns a remark by id for each call without an equal on the
 * other side. Calls are matched by name and arguments in any order, then the rest by name.
 */
export function callDifferences(a: Side, b: Side): Map<string, string> {
  const remarks = new Map<string, string>();
  const left = [...b.calls];
  const unmatched: Call[] = [];
  for (const call of a.calls) {
    const other = takeFrom(
      left,
      (candidate) => candidate.name === call.name && sameJson(candidate.parameters, call.parameters),
    );
    if (other) remark(remarks, call, other, differenceOf(call, other));
    else unmatched.push(call);
  }
  for (const call of unmatched) {
    const other = takeFrom(left, (candidate) => candidate.name === call.name);
    if (other) remark(remarks, call, other, "different arguments");
    else remarks.set(call.id, `only ${a.name}`);
  }
  for (const call of left) remarks.set(call.id, `only ${b.name}`);
  return remarks;
}

function remark(remarks: Map<string, string>, call: Call, other: Call, text: string | undefined): void {
  if (text === undefined) return;
  remarks.set(call.id, text);
  remarks.set(other.id, text);
}

function differenceOf({ outcome: a }: Call, { outcome: b }: Call): string | undefined {
  if (a?.ok && b?.ok) return sameJson(a.result, b.result) ? undefined : "different result";
  if (!a?.ok && !b?.ok && a?.code === b?.code) return undefined;
  return "different outcome";
}

function takeFrom(calls: Call[], fits: (call: Call) => boolean): Call | undefined {
  const at = calls.findIndex(fits);
  return at === -1 ? undefined : calls.splice(at, 1)[0];
}

/** Compares JSON values, ignoring property order. */
export const sameJson = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);
