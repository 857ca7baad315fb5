import type { Call } from "../conversation/exchange.ts";

interface Side {
  calls: readonly Call[];
  /** Who asked, in words. */
  name: string;
}

/**
 * How the calls of two runs of the same query differ: a remark by the id of each call that has no equal on the other side.
 * Calls are matched by name and arguments, whatever their order, and what remains by name.
 */
export function callDifferences(a: Side, b: Side): Map<string, string> {
  const remarks = new Map<string, string>();
  const left = [...b.calls];
  const unmatched: Call[] = [];
  for (const call of a.calls) {
    const other = takeFrom(left, (one) => one.name === call.name && sameJson(one.parameters, call.parameters));
    if (other) remark(remarks, call, other, differenceOf(call, other));
    else unmatched.push(call);
  }
  for (const call of unmatched) {
    const other = takeFrom(left, (one) => one.name === call.name);
    if (other) remark(remarks, call, other, "other arguments");
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
  if (a?.ok && b?.ok) return sameJson(a.result, b.result) ? undefined : "other result";
  if (!a?.ok && !b?.ok && a?.code === b?.code) return undefined;
  return "other outcome";
}

function takeFrom(calls: Call[], fits: (call: Call) => boolean): Call | undefined {
  const at = calls.findIndex(fits);
  return at === -1 ? undefined : calls.splice(at, 1)[0];
}

/** Equal but for the order of members. */
export const sameJson = (a: unknown, b: unknown): boolean => ordered(a) === ordered(b);

const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? "";
