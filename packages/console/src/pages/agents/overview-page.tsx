import type { FunctionSet, RunSummary, Runtime } from "@patchbay/protocol/console";
import { useQuery, type UseQueryResult, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { resource, useList } from "../../api/api.ts";
import { ShareBar } from "../../charts/share-bar.tsx";
import { countOf } from "../../format/numbers.ts";
import { toFunction, toPage, toRun } from "../../state/addresses.ts";
import { QuietLink } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { CopyableText } from "../../ui/copy.tsx";
import { Card, EmptyState, Loaded, Loading, PageHeader } from "../../ui/page.tsx";
import { Snippets } from "../../ui/text/snippet.tsx";
import { ReviewState } from "../../parts/access/access-review.tsx";
import { PendingSets } from "../../parts/access/widened-sets.tsx";
import { Totals, TotalsSkeleton, useFigures } from "../../parts/figures/totals.tsx";
import { callParts } from "../../parts/figures/series.ts";
import { type RunColumn, runColumns } from "../../parts/run/run-columns.tsx";
import { NotConnected, RuntimeState } from "../../parts/runtime/connect.tsx";
import { DataTable, rowsOf } from "../../ui/table/data-table.tsx";
import type { RowLinkProps } from "../../ui/table/table-rows.tsx";
import { Count, Time } from "../../ui/values.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { FirstSteps } from "./first-steps.tsx";

const route = getRouteApi("/shell/agents/$agentId/");

/** An agent's open steps, last day's figures, latest runs, runtimes and functions, and how to query it. */
export function OverviewPage() {
  const params = route.useParams();
  const { agentId } = params;
  const { data: agent } = useSuspenseQuery(resource("/agents/:agent_id", { params }));
  // Empty cards are omitted: they would push the first steps out of view.
  const asked = agent.lastQueryAt !== null;
  const connected = agent.functions !== null;
  const functions = useQuery({ ...resource("/agents/:agent_id/functions", { params }), enabled: connected });
  return (
    <>
      <PageHeader
        title={agent.name}
        description={<CopyableText text={agentId} label="Copy agent ID" />}
        actions={<PlaygroundLink agentId={agentId} icon="chat" />}
      />
      <PendingSets agentId={agentId} />
      <ReviewState agentId={agentId} />
      <div className="grid gap-4">
        <FirstSteps agent={agent} />
        {asked && <LastDay agentId={agentId} />}
        <div
          className={classNames("grid items-start gap-4", connected && "xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]")}
        >
          <div className="grid min-w-0 gap-4">
            {asked && <LatestRuns agentId={agentId} />}
            <HowToQuery agentId={agentId} role={functions.data?.roles[0]} />
          </div>
          {connected && (
            <div className="grid min-w-0 gap-4 max-xl:md:grid-cols-2 max-xl:md:items-start">
              <RuntimesCard agentId={agentId} />
              <FunctionsCard agentId={agentId} functions={functions} />
            </div>
          )}
        </div>
      </div>
    </>
  );
}

function LastDay({ agentId }: { agentId: string }) {
  const { figures, before } = useFigures({ agentId, search: { source: "all" }, preset: "24h" });
  return (
    <section aria-labelledby="last-day">
      <div className="mb-2 flex items-baseline justify-between gap-4">
        <h2 id="last-day" className="text-base font-semibold">
          Last 24 hours
        </h2>
        <Link
          {...toPage(agentId, "analytics")}
          search={{ range: "24h", source: "all" }}
          className="text-accent text-sm hover:underline"
        >
          Open analytics
        </Link>
      </div>
      <Loaded query={figures} loading={<TotalsSkeleton />}>
        {(shown) => (
          <Totals figures={shown} before={before} scope={{ agents: [{ agentId }], search: { range: "24h" } }} />
        )}
      </Loaded>
    </section>
  );
}

const HowToQuery = ({ agentId, role }: { agentId: string; role: string | undefined }) => (
  <Card
    title="Use the API"
    actions={
      <QuietLink {...toPage(agentId, "keys")} search={{ kind: "api" }}>
        Keys
      </QuietLink>
    }
  >
    <Snippets agentId={agentId} body={{ query: "What can you do?", ...(role !== undefined && { role }) }} />
  </Card>
);

const RUNS_SHOWN = 8;
const COLUMNS: RunColumn[] = ["Role", "Duration", "Age"];

/** An agent's latest runs, updated live. */
function LatestRuns({ agentId }: { agentId: string }) {
  const runs = useList("/agents/:agent_id/runs", { params: { agentId }, query: { limit: RUNS_SHOWN } });
  const longestMs = Math.max(1, ...(runs.data ?? []).map(({ durationMs }) => durationMs));
  return (
    <DataTable
      title="Latest runs"
      titleActions={<QuietLink {...toPage(agentId, "runs")}>All runs</QuietLink>}
      query={rowsOf(runs, runs.data)}
      live={{ row: "run", filter: agentId, hasMore: runs.hasNextPage }}
      columns={runColumns(longestMs, COLUMNS)}
      rowKey={({ runId }) => runId}
      link={({ runId }: RunSummary, props: RowLinkProps) => <Link {...toRun(agentId, runId)} {...props} />}
      empty={
        <EmptyState icon="run" title="No runs yet">
          Queries appear here with their model turns and function calls.
        </EmptyState>
      }
    />
  );
}

const FUNCTIONS_SHOWN = 6;

/** An agent's most called functions in the last 24 hours. */
function FunctionsCard({ agentId, functions }: { agentId: string; functions: UseQueryResult<FunctionSet> }) {
  const { data: set } = functions;
  return (
    <Card
      title="Functions"
      description={set && `${countOf(set.functions.length, "function")} for ${countOf(set.roles.length, "role")}`}
      flush
      actions={<QuietLink {...toPage(agentId, "functions")}>All functions</QuietLink>}
    >
      <Loaded query={functions} loading={<Loading block="mx-4 my-1 w-auto" blocks={FUNCTIONS_SHOWN} />}>
        {({ manifestHash, functions }) => <MostCalled key={manifestHash} agentId={agentId} functions={functions} />}
      </Loaded>
    </Card>
  );
}

function MostCalled({ agentId, functions }: { agentId: string; functions: FunctionSet["functions"] }) {
  // Calls change the figures while the page is shown, and would change places under the pointer.
  const [names] = useState(() =>
    functions
      .toSorted((a, b) => b.figures.calls - a.figures.calls)
      .slice(0, FUNCTIONS_SHOWN)
      .map(({ name }) => name),
  );
  const shown = names.flatMap((name) => functions.find((fn) => fn.name === name) ?? []);
  const max = Math.max(1, ...shown.map(({ figures }) => figures.calls));
  return (
    <ul className="py-1">
      {shown.map(({ name, figures }) => (
        <li key={name}>
          <Link
            {...toFunction(agentId, name)}
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
function RuntimesCard({ agentId }: { agentId: string }) {
  const runtimes = useList("/agents/:agent_id/runtimes", { params: { agentId } });
  const connected = runtimes.data?.filter((runtime) => runtime.connected);
  return (
    <Card
      title="Runtimes"
      description={connected && connected.length > 0 ? `${connected.length} connected` : undefined}
      flush
      actions={<QuietLink {...toPage(agentId, "runtimes")}>All runtimes</QuietLink>}
    >
      <Loaded query={{ ...runtimes, data: connected }} loading={<Loading block="mx-4 my-2 w-auto" blocks={2} />}>
        {(connected) =>
          connected.length === 0 ? (
            <div className="p-4">
              <NotConnected agentId={agentId} />
            </div>
          ) : (
            <ul>
              {connected.slice(0, RUNTIMES_SHOWN).map((runtime) => (
                <RuntimeRow key={runtime.instanceId} {...runtime} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

const RuntimeRow = ({ instanceId, host, service, deployment, inFlight, concurrency, sdk, ...runtime }: Runtime) => (
  <li className="border-line border-b px-4 py-2.5 last:border-b-0">
    <div className="flex items-center justify-between gap-3">
      <RuntimeState {...runtime} />
      <span className="text-muted shrink-0 text-xs">
        heartbeat <Time at={runtime.lastSeenAt} />
      </span>
    </div>
    <p className={`mt-1.5 truncate text-xs ${host === null ? "font-mono" : "font-medium"}`} title={instanceId}>
      {host ?? instanceId}
      <span className="text-muted font-sans font-normal">
        {` · ${service}${deployment === null ? "" : ` · ${deployment}`}`}
      </span>
    </p>
    <p className="text-muted mt-0.5 text-xs">
      {inFlight}
      {concurrency !== null && ` of ${concurrency}`} calls in flight
      {sdk !== null && ` · ${sdk}`}
    </p>
  </li>
);
