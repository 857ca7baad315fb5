import type { ConsoleRole, Session } from "@patchbay/protocol/console";
import { useSuspenseQuery } from "@tanstack/react-query";
import { sessionQuery } from "../api/queries.ts";

/** Who is signed in. For pages inside the shell alone. */
export const useSession = (): Session => useSuspenseQuery(sessionQuery()).data;

const ORDER: Record<ConsoleRole, number> = { viewer: 0, developer: 1, owner: 2 };

/** True where the person has that role or a higher one. What would be refused is shown disabled: see `GuardedButton`. */
export function useMay(role: ConsoleRole): boolean {
  return ORDER[useSession().member.role] >= ORDER[role];
}
