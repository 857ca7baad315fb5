import type { ConsoleApproval } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { resource, useList } from "../../api/api.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { DataTable } from "../../ui/table/data-table.tsx";
import { FilterBar } from "../../ui/table/filter-bar.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Status, Time, TwoLines } from "../../ui/values.tsx";
import { ApprovalPanel } from "./approval-panel.tsx";

const route = getRouteApi("/shell/approvals");

const STATUSES = ["approved", "rejected", "expired", "cancelled", "all"];

/** The approvals that runs wait for, and earlier ones. */
export function ApprovalsPage() {
  const { approval: opened, status = "pending", agentId, runId } = route.useSearch();
  const change = useSearchChange(route);
  const shownStatus = status === "all" ? undefined : status;
  const approvals = useList("/approvals", { query: { status: shownStatus, agentId, runId } });
  const agents = useList("/agents", { query: { limit: 100 } }).data ?? [];
  const names = new Map(agents.map(({ agentId, name }) => [agentId, name]));
  const ofAgents = agents.map(({ agentId, name }) => ({ value: agentId, label: name }));
  const listed = approvals.data?.find(({ approvalId }) => approvalId === opened);
  // A link may lead to any approval: a decided one, or one on a later list page.
  const linked = useQuery({
    ...resource("/approvals", { query: { approvalId: opened } }),
    enabled: opened !== undefined && approvals.isFetched && !listed,
  });
  const shown = listed ?? (opened === undefined ? undefined : linked.data?.items[0]);
  return (
    <>
      <PageHeader title="Approvals" description="Calls in all agents that wait for a person">
        <FilterBar
          filters={[
            { kind: "choice", name: "status", label: "Status", any: "pending", options: STATUSES },
            { kind: "choice", name: "agentId", label: "Agent", options: ofAgents },
            { kind: "text", name: "runId", label: "Run ID", suggestions: [], further: true },
          ]}
          values={{ status: status === "pending" ? undefined : status, agentId, runId }}
          onChange={change}
        />
      </PageHeader>
      {opened !== undefined && linked.data?.items.length === 0 && (
        <p role="status" className="text-muted mb-3 text-sm">
          No approval has the ID {opened}. It is deleted with its thread.
        </p>
      )}
      <DataTable
        caption="Approvals"
        query={approvals}
        live={{ row: "approval", filter: { status, agentId, runId } }}
        columns={columnsOf(names)}
        rowKey={({ approvalId }) => approvalId}
        link={({ approvalId }, props) => (
          <Link
            to="/approvals"
            search={(before) => ({ ...before, approval: approvalId })}
            replace
            resetScroll={false}
            {...props}
            className={`${props.className} block`}
          />
        )}
        empty={
          <EmptyState icon="succeeded" title={status === "pending" ? "Nothing to decide" : "No approvals"}>
            Calls of functions with <code className="font-mono">approval</code> appear here until a person decides.
          </EmptyState>
        }
      />
      {shown && (
        <ApprovalPanel
          key={shown.approvalId}
          approval={shown}
          agentName={names.get(shown.agentId) ?? shown.agentId}
          onClose={() => change({ approval: undefined })}
        />
      )}
    </>
  );
}

const columnsOf = (names: Map<string, string>): Column<ConsoleApproval>[] => [
  {
    head: "Call",
    cell: ({ toolName, parameters }) => <TwoLines first={toolName} second={JSON.stringify(parameters)} />,
  },
  {
    head: "Reason",
    from: "lg",
    cell: ({ reason }) => <span className="block max-w-80 truncate">{reason ?? "–"}</span>,
  },
  {
    head: "Agent",
    from: "md",
    cell: ({ agentId }) => <span className="block max-w-40 truncate">{names.get(agentId) ?? agentId}</span>,
  },
  { head: "Requested", from: "md", cell: ({ requestedAt }) => <Time at={requestedAt} /> },
  { head: "Status", cell: ({ status }) => <Status state={status} /> },
  {
    head: "Expires or decided",
    align: "end",
    cell: ({ status, expiresAt, decidedAt }) =>
      status === "pending" ? <Time at={expiresAt} /> : <Time at={decidedAt ?? null} none="–" />,
  },
];
