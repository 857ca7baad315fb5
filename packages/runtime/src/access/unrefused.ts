import type { AccessLock } from "@patchbay/protocol";

/**
 * Functions with call-by-call decisions although no declared case is refused: an `authorize` that always returns true
 * would pass all their cases. An approval refuses nothing, so it counts only where no `authorize` decides.
 */
export function findUnrefused({ functions }: AccessLock): string[] {
  return Object.entries(functions).flatMap(([name, { roles, authorize }]) => {
    const decided = Object.values(roles).flatMap((cell) =>
      typeof cell === "object" && cell.access === "conditional" ? [Object.values(cell.cases)] : [],
    );
    const isRefused = decided.flat().some((verdict) => verdict === "denied" || (verdict === "approval" && !authorize));
    return decided.length === 0 || isRefused ? [] : [name];
  });
}
