import type { ConsoleThread } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useList } from "../../api/api.ts";
import { toThread } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { type Filter, FilterBar } from "../../ui/table/filter-bar.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { Count, Money, Time, TwoLines } from "../../ui/values.tsx";
import { shownTitle } from "../../parts/conversation/exchange.ts";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";

const route = getRouteApi("/shell/agents/$agentId/threads");

const FILTERS: Filter<"q" | "sessionId">[] = [
  { kind: "search", name: "q", label: "Search titles and IDs" },
  { kind: "text", name: "sessionId", label: "Session", suggestions: [] },
];

/** An agent's threads, sorted by their last update. */
export function ThreadsPage() {
  const { agentId } = route.useParams();
  const search = route.useSearch();
  const change = useSearchChange(route, { toTop: true });
  const threads = useList("/agents/:agent_id/threads", { params: { agentId }, query: search });
  const filtered = search.q !== undefined || search.sessionId !== undefined;
  return (
    <>
      <PageHeader title="Threads" description="Conversations: queries that include the messages before them">
        <FilterBar filters={FILTERS} values={search} onChange={change} />
      </PageHeader>
      <DataTable
        caption="Threads"
        query={threads}
        live={{ row: "thread", filter: { agentId, ...search } }}
        columns={COLUMNS}
        rowKey={({ threadId }) => threadId}
        link={({ threadId }, props) => <Link {...toThread(agentId, threadId)} {...props} />}
        empty={filtered ? <NothingFound /> : <NoThreads agentId={agentId} />}
      />
    </>
  );
}

const NothingFound = () => (
  <EmptyState icon="search" title="No matching threads">
    Search by title words or the start of the ID; the session ID must match exactly.
  </EmptyState>
);

const NoThreads = ({ agentId }: { agentId: string }) => (
  <EmptyState icon="thread" title="No threads yet" action={<PlaygroundLink agentId={agentId} />}>
    A query starts a thread, or continues the thread with its threadId.
  </EmptyState>
);

const COLUMNS: Column<ConsoleThread>[] = [
  {
    head: "Thread",
    className: "sm:w-full sm:max-w-0",
    cell: ({ title, threadId }) => <TwoLines first={shownTitle(title)} second={threadId} id long />,
  },
  {
    head: "Session",
    from: "lg",
    cell: ({ sessionId }) =>
      sessionId === null ? (
        <span className="text-faint">none</span>
      ) : (
        <code className="block max-w-40 truncate font-mono text-xs" title={sessionId}>
          {sessionId}
        </code>
      ),
  },
  { head: "Queries", align: "end", cell: ({ runs }) => <Count value={runs} /> },
  { head: "Cost", align: "end", from: "md", cell: ({ costUsd }) => <Money usd={costUsd} /> },
  { head: "Created", align: "end", from: "xl", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Updated", align: "end", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
