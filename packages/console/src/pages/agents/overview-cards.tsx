import type { FunctionSet, RunSummary, Runtime } from "@patchbay/protocol/console";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useList, useSession } from "../../api/api.ts";
import { ShareBar } from "../../charts/small-charts.tsx";
import { countOf } from "../../format/numbers.ts";
import { connectSnippetsOf } from "../../format/snippets.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { DataTable, type RowLinkProps, rowsOf } from "../../ui/data-table.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, EmptyState, ErrorState, Loading, Skeleton } from "../../ui/page.tsx";
import { Count, Status, Time } from "../../ui/values.tsx";
import { callParts } from "../analytics/series.ts";
import { runColumns } from "../runs/run-columns.tsx";

const RUNS_SHOWN = 8;
const HEADS = new Set(["Query", "Role", "Duration", "Age"]);

/** The latest runs of an agent, updated live. */
export function LatestRuns({ agentId }: { agentId: string }) {
  const runs = useList("/agents/:agent_id/runs", { params: { agentId }, query: { limit: RUNS_SHOWN } });
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <Card
      title="Latest runs"
      flush
      actions={
        <LinkButton to="/agents/$agentId/runs" params={{ agentId }} look="ghost" size="small">
          All runs
        </LinkButton>
      }
    >
      <DataTable
        caption="Latest runs"
        query={rowsOf(runs, runs.data?.slice(0, RUNS_SHOWN))}
        columns={runColumns(longestMs).filter(({ head }) => HEADS.has(head))}
        rowKey={({ runId }) => runId}
        link={({ runId }: RunSummary, props: RowLinkProps) => (
          <Link to="/agents/$agentId/runs/$runId" params={{ agentId, runId }} {...props} />
        )}
        empty={
          <EmptyState icon="run" title="No runs yet">
            Queries appear here with their model turns and function calls.
          </EmptyState>
        }
      />
    </Card>
  );
}

const FUNCTIONS_SHOWN = 6;

/** The functions of an agent with the most calls in the last 24 hours. */
export function FunctionsCard({ agentId, functions }: { agentId: string; functions: UseQueryResult<FunctionSet> }) {
  const { data: set, error } = functions;
  return (
    <Card
      title="Functions"
      description={set && `${countOf(set.functions.length, "function")} for ${countOf(set.roles.length, "role")}`}
      flush
      actions={
        <LinkButton to="/agents/$agentId/functions" params={{ agentId }} look="ghost" size="small">
          All functions
        </LinkButton>
      }
    >
      {set ? (
        <MostCalled agentId={agentId} functions={set.functions} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void functions.refetch()} />
      ) : (
        <Loading label="Loading functions">
          <div className="grid gap-3 p-4">
            {Array.from({ length: FUNCTIONS_SHOWN }, (_, i) => (
              <Skeleton key={i} className="h-4 w-full" />
            ))}
          </div>
        </Loading>
      )}
    </Card>
  );
}

function MostCalled({ agentId, functions }: { agentId: string; functions: FunctionSet["functions"] }) {
  const shown = functions.toSorted((a, b) => b.figures.calls - a.figures.calls).slice(0, FUNCTIONS_SHOWN);
  const max = Math.max(1, ...shown.map(({ figures }) => figures.calls));
  return (
    <ul className="py-1">
      {shown.map(({ name, figures }) => (
        <li key={name}>
          <Link
            to="/agents/$agentId/functions/$functionName"
            params={{ agentId, functionName: name }}
            className="hover:bg-hover/60 block px-4 py-1.5 focus-visible:-outline-offset-2"
          >
            <span className="flex items-baseline justify-between gap-3">
              <span className="min-w-0 truncate font-mono text-xs">{name}</span>
              <span className="text-muted shrink-0 text-xs">
                <Count value={figures.calls} /> <span className="sr-only">calls in 24 hours</span>
              </span>
            </span>
            <span className="mt-1 block">
              <ShareBar max={max} parts={callParts(figures)} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const RUNTIMES_SHOWN = 4;

/** The connected runtimes, or how to connect one. */
export function RuntimesCard({ agentId }: { agentId: string }) {
  const runtimes = useList("/agents/:agent_id/runtimes", { params: { agentId } });
  const connected = runtimes.data?.filter((runtime) => runtime.connected);
  return (
    <Card
      title="Runtimes"
      description={connected && connected.length > 0 ? `${connected.length} connected` : undefined}
      flush
      actions={
        <LinkButton to="/agents/$agentId/runtimes" params={{ agentId }} look="ghost" size="small">
          All runtimes
        </LinkButton>
      }
    >
      {connected ? (
        connected.length === 0 ? (
          <NotConnected agentId={agentId} />
        ) : (
          <ul>
            {connected.slice(0, RUNTIMES_SHOWN).map((runtime) => (
              <RuntimeRow key={runtime.instanceId} {...runtime} />
            ))}
          </ul>
        )
      ) : runtimes.error ? (
        <ErrorState error={runtimes.error} onRetry={() => void runtimes.refetch()} />
      ) : (
        <Loading label="Loading runtimes">
          <div className="grid gap-2 p-4">
            <Skeleton className="h-5 w-28" />
            <Skeleton className="h-4 w-3/4" />
          </div>
        </Loading>
      )}
    </Card>
  );
}

const RuntimeRow = ({ instanceId, draining, inFlight, concurrency, sdk, lastSeenAt }: Runtime) => (
  <li className="border-line border-b px-4 py-2.5 last:border-b-0">
    <div className="flex items-center justify-between gap-3">
      <Status state={draining ? "draining" : "connected"} />
      <span className="text-muted text-xs">
        heartbeat <Time at={lastSeenAt} />
      </span>
    </div>
    <p className="mt-1.5 truncate font-mono text-xs" title={instanceId}>
      {instanceId}
    </p>
    <p className="text-muted mt-0.5 text-xs">
      {inFlight}
      {concurrency !== null && ` of ${concurrency}`} calls in flight
      {sdk !== null && ` · ${sdk}`}
    </p>
  </li>
);

function NotConnected({ agentId }: { agentId: string }) {
  const { baseUrl } = useSession();
  return (
    <div className="grid gap-2.5 p-4">
      <p className="flex items-start gap-2 text-sm">
        <Icon name="alert" className="text-warn mt-0.5 size-4" />
        <span className="min-w-0">
          <span className="block font-medium">No runtime is connected</span>
          <span className="text-muted">
            Queries fail with “Agent session not found”. Start a runtime next to your functions:
          </span>
        </span>
      </p>
      <Command text={connectSnippetsOf({ baseUrl, agentId }).cli} />
    </div>
  );
}
