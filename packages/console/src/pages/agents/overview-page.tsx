import { keepPreviousData, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { PAST } from "../../api/live.ts";
import { resource } from "../../api/queries.ts";
import { rangeBefore, rangeOf } from "../../format/time-range.ts";
import { useSession } from "../../state/session.ts";
import { buttonClass } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { GuardedLink } from "../../ui/guarded-button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { Totals, TotalsSkeleton } from "../analytics/totals.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { FunctionsCard } from "./functions-card.tsx";
import { NewestRuns } from "./newest-runs.tsx";
import { RuntimesCard } from "./runtimes-card.tsx";

const route = getRouteApi("/shell/agents/$agentId/");

/** An agent at a glance: what is missing, how its last day went, what runs now, and how it is asked. */
export function OverviewPage() {
  const { agentId } = route.useParams();
  const { data: agent } = useSuspenseQuery(resource("/agents/:agent_id", { params: { agent_id: agentId } }));
  // Cards that could only say that they are empty would hide the first steps.
  const asked = agent.lastQueryAt !== null;
  const connected = agent.functions !== null;
  const functions = useQuery({
    ...resource("/agents/:agent_id/functions", { params: { agent_id: agentId } }),
    enabled: connected,
  });
  return (
    <>
      <PageHeader
        title={agent.name}
        description={
          <span className="flex items-center gap-1">
            <code className="min-w-0 truncate font-mono text-xs">{agentId}</code>
            <CopyButton text={agentId} label="Copy agent id" />
          </span>
        }
        actions={
          <GuardedLink
            needs="developer"
            look="primary"
            icon="chat"
            link={<Link to="/agents/$agentId/playground" params={{ agentId }} />}
          >
            Ask in the playground
          </GuardedLink>
        }
      />
      <div className="grid gap-4">
        <FirstSteps agent={agent} />
        {asked && <LastDay agentId={agentId} />}
        <div
          className={classNames("grid items-start gap-4", connected && "xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]")}
        >
          <div className="grid min-w-0 gap-4">
            {asked && <NewestRuns agentId={agentId} />}
            <HowToAsk agentId={agentId} role={functions.data?.roles[0]} />
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
  const params = { agent_id: agentId };
  const figures = useQuery({
    ...resource("/agents/:agent_id/analytics", { params, query: rangeOf({}) }),
    placeholderData: keepPreviousData,
  });
  const before = useQuery({
    ...resource("/agents/:agent_id/analytics", { params, query: rangeBefore({}) }),
    meta: PAST,
    placeholderData: keepPreviousData,
  });
  return (
    <section aria-labelledby="last-day">
      <div className="mb-2 flex items-baseline justify-between gap-4">
        <h2 id="last-day" className="text-base font-semibold">
          Last 24 hours
        </h2>
        <Link
          to="/agents/$agentId/analytics"
          params={{ agentId }}
          search={{ range: "24h" }}
          className="text-accent text-sm hover:underline"
        >
          All figures
        </Link>
      </div>
      {figures.data ? (
        <Totals figures={figures.data} before={before.data?.totals} />
      ) : figures.error ? (
        <Card>
          <ErrorState error={figures.error} onRetry={() => void figures.refetch()} />
        </Card>
      ) : (
        <TotalsSkeleton />
      )}
    </section>
  );
}

function HowToAsk({ agentId, role }: { agentId: string; role: string | undefined }) {
  const { baseUrl } = useSession();
  return (
    <Card
      title="Ask it from a program"
      actions={
        <Link
          to="/agents/$agentId/keys"
          params={{ agentId }}
          search={{ kind: "api" }}
          className={buttonClass("ghost", "small")}
        >
          Keys
        </Link>
      }
    >
      <Snippets
        baseUrl={baseUrl}
        agentId={agentId}
        body={{ query: "What can you do?", ...(role !== undefined && { role }) }}
      />
    </Card>
  );
}
