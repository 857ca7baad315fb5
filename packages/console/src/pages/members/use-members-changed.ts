import { useQueryClient } from "@tanstack/react-query";
import { pathOfKey } from "../../api/queries.ts";

const PATHS: unknown[] = ["/members", "/links", "/organisation", "/session"];

/** Fetches again what a change of members appears in. */
export function useMembersChanged(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ predicate: ({ queryKey }) => PATHS.includes(pathOfKey(queryKey)) });
}
