import { useQueryClient } from "@tanstack/react-query";
import { pathOfKey } from "../../api/queries.ts";

const PATHS: unknown[] = ["/members", "/organisation", "/session"];

/** Fetches anew what a change of members shows in. */
export function useMembersChanged(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ predicate: ({ queryKey }) => PATHS.includes(pathOfKey(queryKey)) });
}
