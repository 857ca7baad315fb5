import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./api.ts";
import type { AnswerOf, ItemOf, ListPath, PathOf, RequestOf } from "./routes.ts";

type Asked<Path extends PathOf<"GET">> = Omit<RequestOf<"GET", Path>, "signal" | "body">;
type Arguments<Path extends PathOf<"GET">> =
  object extends Asked<Path> ? [request?: Asked<Path>] : [request: Asked<Path>];

/** Every query's key: path and what it was asked with, so that lists are found by their path. */
export const keyOf = (path: PathOf<"GET">, request: { params?: unknown; query?: unknown } = {}) =>
  [path, request.params ?? {}, request.query ?? {}] as const;

/** One resource, for `useQuery` and loaders. */
export function resource<Path extends PathOf<"GET">>(path: Path, ...[request]: Arguments<Path>) {
  const get = api.get as (path: Path, request: object) => Promise<AnswerOf<"GET", Path>>;
  return queryOptions({
    queryKey: keyOf(path, request),
    queryFn: ({ signal }) => get(path, { ...request, signal }),
  });
}

interface PageOf<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** A list that grows part by part, for `useInfiniteQuery`: its data is the items so far. */
export function list<Path extends ListPath>(path: Path, ...[request]: Arguments<Path>) {
  const get = api.get as unknown as (path: Path, request: object) => Promise<PageOf<ItemOf<Path>>>;
  return infiniteQueryOptions({
    queryKey: ["list", ...keyOf(path, request)],
    queryFn: ({ signal, pageParam }) =>
      get(path, { ...request, query: { ...(request as { query?: object })?.query, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap((page) => page.items),
  });
}

/** The path that a key is of; undefined for keys of another make. */
export function pathOfKey(key: readonly unknown[]): unknown {
  return key[0] === "list" ? key[1] : key[0];
}

export const sessionQuery = () => resource("/session");
