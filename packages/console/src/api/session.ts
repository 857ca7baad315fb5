import type { ConsoleRole, Session } from "@patchbay/protocol/console";
import { useSuspenseQuery } from "@tanstack/react-query";
import { sessionQuery } from "./api.ts";

/** The signed-in member. Only for pages inside the shell, which loads the session first. */
export const useSession = (): Session => useSuspenseQuery(sessionQuery()).data;

const ORDER: Record<ConsoleRole, number> = { viewer: 0, developer: 1, owner: 2 };

/** True if the member has this role or a higher one. Disable what the API would deny: see `GuardedButton`. */
export function useHasRole(role: ConsoleRole): boolean {
  return ORDER[useSession().member.role] >= ORDER[role];
}
