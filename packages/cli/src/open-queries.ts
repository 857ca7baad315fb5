import type { QueryLine } from "@patchbay/control-plane";

/** Counts the queries that a control plane works on, from what it tells its observer. */
export function countOpenQueries() {
  const open = new Set<string>();
  return {
    observe({ kind, runId }: QueryLine): void {
      if (kind === "query") open.add(runId);
      else if (kind !== "call") open.delete(runId);
    },
    count: (): number => open.size,
  };
}
