import type { RunSummary } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { list } from "../../api/queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { DataTable, rowsOf, type RowLinkProps } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { runColumns } from "../runs/run-columns.tsx";

const SHOWN = 8;
const HEADS = new Set(["Query", "Role", "Duration", "Age"]);

/** The last few runs of an agent, as they come. */
export function NewestRuns({ agentId }: { agentId: string }) {
  const runs = useInfiniteQuery(
    list("/agents/:agent_id/runs", { params: { agent_id: agentId }, query: { limit: SHOWN } }),
  );
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <Card
      title="Newest runs"
      flush
      actions={
        <Link to="/agents/$agentId/runs" params={{ agentId }} className={buttonClass("ghost", "small")}>
          All runs
        </Link>
      }
    >
      <DataTable
        caption="Newest runs"
        query={rowsOf(runs, runs.data?.slice(0, SHOWN))}
        columns={runColumns(longestMs).filter(({ head }) => HEADS.has(head))}
        rowKey={({ runId }) => runId}
        link={({ runId }: RunSummary, props: RowLinkProps) => (
          <Link to="/agents/$agentId/runs/$runId" params={{ agentId, runId }} {...props} />
        )}
        empty={
          <EmptyState icon="run" title="No runs yet">
            Each query becomes a run, with every turn of the model and every call as it happened.
          </EmptyState>
        }
      />
    </Card>
  );
}
