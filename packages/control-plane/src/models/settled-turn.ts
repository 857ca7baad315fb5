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
