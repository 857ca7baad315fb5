import type { ConsoleRole, Session } from "@patchbay/protocol/console";
import {
  infiniteQueryOptions,
  keepPreviousData,
  QueryClient,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { type Preset, rangeOf } from "../format/time-range.ts";
import { askConfirmation } from "../state/confirmation.ts";
import { createSignal } from "../state/signals.ts";
import { ApiError } from "./api-error.ts";
import { createClient } from "./client.ts";
import type { AnswerOf, ItemOf, ListPath, PathOf, RequestOf } from "./routes.ts";

/** True once a request finds that the session has ended; `main.tsx` then opens the sign-in page. */
export const signedOut = createSignal(false);

/** The API client. The page has one, because it has one session. */
export const api = createClient({
  fetch: (...request) => fetch(...request),
  onSignedOut: () => signedOut.set(true),
  confirm: askConfirmation,
});

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.transient,
    },
    // Drop a mutation with the form that sent it: its variables and data may contain a password or a new key.
    mutations: { gcTime: 0 },
  },
});

type Asked<Path extends PathOf<"GET">> = Omit<RequestOf<"GET", Path>, "signal" | "body">;
type Arguments<Path extends PathOf<"GET">> =
  object extends Asked<Path> ? [request?: Asked<Path>] : [request: Asked<Path>];

/** A query key: path, parameters and query string. `pathOfKey` reads the path back for live changes. */
export const keyOf = (path: PathOf<"GET">, request: { params?: unknown; query?: unknown } = {}) =>
  [path, request.params ?? {}, request.query ?? {}] as const;

/** The query for one resource, for `useQuery` and loaders. */
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

interface Relative {
  /** Length of a range that ends now. Each request computes its start, which replaces `query.from`. */
  last?: Preset | undefined;
}

type ListArguments<Path extends ListPath> =
  object extends Asked<Path> ? [request?: Asked<Path> & Relative] : [request: Asked<Path> & Relative];

/**
 * A paged list's query, for `useInfiniteQuery`. Its data is the items on all fetched pages. Its key leaves out the
 * start of a relative range: the start moves with the clock, and a list with another key begins again with its first
 * page.
 */
export function list<Path extends ListPath>(path: Path, ...[request]: ListArguments<Path>) {
  const get = api.get as unknown as (path: Path, request: object) => Promise<PageOf<ItemOf<Path>>>;
  const { last, params, query } = (request ?? {}) as Relative & { params?: object; query?: object };
  return infiniteQueryOptions({
    queryKey: ["list", ...keyOf(path, { params, query: last ? { ...query, from: undefined, last } : query })],
    queryFn: ({ signal, pageParam }) =>
      get(path, {
        ...(params && { params }),
        query: { ...query, ...(last && rangeOf({ range: last })), cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    select: ({ pages }) => pages.flatMap((page) => page.items),
  });
}

/** A paged list's rows. When a filter changes the key, the previous rows stay until the new ones arrive. */
export const useList = <Path extends ListPath>(path: Path, ...request: ListArguments<Path>) =>
  useInfiniteQuery({ ...list(path, ...request), placeholderData: keepPreviousData });

/** A resource. When a filter changes the key, the previous answer stays until the new one arrives. */
export const useFiltered = <Path extends PathOf<"GET">>(path: Path, ...request: Arguments<Path>) =>
  useQuery({ ...resource(path, ...request), placeholderData: keepPreviousData });

/** The path in a key from `keyOf`, also for lists. */
export function pathOfKey(key: readonly unknown[]): unknown {
  return key[0] === "list" ? key[1] : key[0];
}

export const sessionQuery = () => resource("/session");

/** Refetches these paths' queries where they are shown, and marks the others as stale. */
export const refetch = (...paths: PathOf<"GET">[]): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => paths.some((path) => path === pathOfKey(queryKey)) });

/** The signed-in member. Only for pages inside the shell, which loads the session first. */
export const useSession = (): Session => useSuspenseQuery(sessionQuery()).data;

/** Stores the session that a request answered with. */
export const setSession = (session: Session) => queryClient.setQueryData(sessionQuery().queryKey, session);

const ORDER: Record<ConsoleRole, number> = { viewer: 0, developer: 1, owner: 2 };

/** True if the member has this role or a higher one. Disable what the API would deny: see `GuardedButton`. */
export function useHasRole(role: ConsoleRole): boolean {
  return ORDER[useSession().member.role] >= ORDER[role];
}
