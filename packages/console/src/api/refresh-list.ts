import type { InfiniteData, Query, QueryClient } from "@tanstack/react-query";
import type { ListPath } from "./routes.ts";

/** Row ids in long lists. Other lists are short, and fetched again as a whole. */
const ROW_IDS: { [Path in ListPath]?: string } = {
  "/agents/:agent_id/runs": "runId",
  "/agents/:agent_id/threads": "threadId",
  "/agents/:agent_id/sessions": "sessionId",
  "/audit": "id",
  "/credits/ledger": "id",
};

type Row = Readonly<Record<string, unknown>>;

interface Page {
  items: Row[];
  nextCursor: string | null;
}

type Pages = InfiniteData<Page, string | undefined>;

/** Runs that have not ended change where they are. */
const isOpen = ({ finishedAt }: Row): boolean => finishedAt === null;

/**
 * Fetches what may have changed in a list with several pages: the first page, where new rows are, and pages with open
 * runs. The others stay, so that a member who has loaded twenty pages does not fetch twenty pages with each change.
 * Resolves with false when the list must be fetched as a whole.
 */
export async function refreshList(queries: QueryClient, query: Query): Promise<boolean> {
  const { queryKey, state } = query;
  const id = ROW_IDS[queryKey[1] as ListPath];
  const before = state.data as Pages | undefined;
  if (queryKey[0] !== "list" || id === undefined || before === undefined || before.pages.length < 2) return false;
  if (state.fetchStatus !== "idle" || typeof query.options.queryFn !== "function") return false;
  const fetchPage = query.options.queryFn as unknown as (context: object) => Promise<Page>;
  const changed = before.pages.map((page, at) => at === 0 || page.items.some(isOpen));
  const fresh = await Promise.all(
    before.pages.map(async (page, at) =>
      changed[at] === true
        ? fetchPage({
            client: queries,
            queryKey,
            meta: query.meta,
            pageParam: before.pageParams[at],
            direction: "forward",
          })
        : page,
    ),
  );
  const first = withFirst(before.pages[0]!, fresh[0]!, id);
  // Another fetch has replaced the rows meanwhile, or has begun to.
  const isCurrent = query.state.data === before && query.state.fetchStatus === "idle";
  if (first === undefined || !isCurrent) return false;
  const ids = new Set(first.items.map((row) => row[id]));
  const rest = fresh.slice(1).map((page) => ({ ...page, items: page.items.filter((row) => !ids.has(row[id])) }));
  queries.setQueryData<Pages>(queryKey, { ...before, pages: [first, ...rest] });
  return true;
}

/** The new first page, with the rows that new ones have displaced from it. Undefined when rows between them may be missing. */
function withFirst(before: Page, fresh: Page, id: string): Page | undefined {
  const last = fresh.items.at(-1)?.[id];
  const at = before.items.findIndex((row) => row[id] === last);
  const displaced = before.items.slice(at + 1);
  if (at < 0 || fresh.nextCursor === null || displaced.some(isOpen)) return undefined;
  return { items: [...fresh.items, ...displaced], nextCursor: before.nextCursor };
}

/** Fetches these queries again: those on the page now, lists only as far as they may have changed, the others when they are shown. */
export function refetchChanged(queries: QueryClient, matches: (query: Query) => boolean): void {
  for (const query of queries.getQueryCache().findAll({ predicate: matches })) void refetchOne(queries, query);
}

async function refetchOne(queries: QueryClient, query: Query): Promise<void> {
  const refreshed = query.isActive() && (await refreshList(queries, query).catch(() => false));
  if (!refreshed) await queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
}
