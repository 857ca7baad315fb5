import { ModelError, type ModelStop } from "@patchbay/engine/ports/model-provider";

/** The ends of a turn that a wire documents, by its names. A map: a server's name may be `constructor`. */
export type WireEnds = ReadonlyMap<string, ModelStop>;

/** `names`: the wire's names of each end, separated by spaces. */
export const wireEnds = (names: Partial<Record<ModelStop, string>>): WireEnds =>
  new Map(Object.entries(names).flatMap(([stop, list]) => list.split(" ").map((name) => [name, stop as ModelStop])));

/**
 * The end that a wire names. Throws `unknown_end` for a name that `ends` does not list: the turn may be half an answer.
 * A repeated end must not turn a cut or refused turn into a complete one, so only a complete one is replaced.
 */
export function endOf(provider: string, ends: WireEnds, name: string, before?: ModelStop): ModelStop {
  const stop = ends.get(name);
  if (!stop) throw unknownEnd(provider, JSON.stringify(name).slice(0, 100));
  return before === undefined || before === "calls" || before === "stop" ? stop : before;
}

export const unknownEnd = (provider: string, end: string): ModelError =>
  new ModelError("unknown_end", `${provider} ended its turn with ${end}`);
