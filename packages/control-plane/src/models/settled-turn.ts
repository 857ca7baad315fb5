import type { ModelCall, ModelStop } from "../ports/model-provider.ts";

/**
 * What of a turn may be run, the same rule for every wire: calls only where the wire ended the turn for them. A turn that was
 * cut, refused or stopped otherwise runs nothing, also where a call in it looks whole.
 */
export function settleTurn(
  stop: ModelStop,
  found: ModelCall[],
): { stop: ModelStop; calls: ModelCall[]; cutCall?: boolean } {
  if (stop === "calls") return found.length > 0 ? { stop, calls: found } : { stop: "stop", calls: [] };
  if (stop === "length" && found.length > 0) return { stop, calls: [], cutCall: true };
  return { stop, calls: [] };
}

/** A provider's count of tokens as a whole number of at least 0. Compatible servers send text, negative numbers and nothing. */
export function tokenCount(value: unknown, warnings: string[]): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  const number = typeof value === "string" || typeof value === "number" ? Math.round(Number(value)) : 0;
  const counted = Number.isSafeInteger(number) && number > 0 ? number : 0;
  const warning = `The provider reported ${JSON.stringify(value)} as a number of tokens, which was counted as ${counted}.`;
  if (!warnings.includes(warning)) warnings.push(warning);
  return counted;
}
