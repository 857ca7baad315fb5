import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { resource, useSession } from "../../api/api.ts";
import { toPage } from "../../state/addresses.ts";
import { LinkButton } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { CopyableText } from "../../ui/copy.tsx";
import { Card, Loaded, PageHeader } from "../../ui/page.tsx";
import { Snippets } from "../../ui/text/snippet.tsx";
import { PendingSets } from "../../parts/access/widened-sets.tsx";
import { Totals, TotalsSkeleton, useFigures } from "../../parts/figures/totals.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { FunctionsCard, LatestRuns, RuntimesCard } from "./overview-cards.tsx";

const route = getRouteApi("/shell/agents/$agentId/");

/** An agent's open steps, last day's figures, latest runs, runtimes and functions, and how to query it. */
export function OverviewPage() {
  const { agentId } = route.useParams();
  const { data: agent } = useSuspenseQuery(resource("/agents/:agent_id", { params: { agentId } }));
  // Empty cards are omitted: they would push the first steps out of view.
  const asked = agent.lastQueryAt !== null;
  const connected = agent.functions !== null;
  const functions = useQuery({
    ...resource("/agents/:agent_id/functions", { params: { agentId } }),
    enabled: connected,
  });
  return (
    <>
      <PageHeader
        title={agent.name}
        description={<CopyableText text={agentId} label="Copy agent ID" />}
        actions={<PlaygroundLink agentId={agentId} icon="chat" />}
      />
      <PendingSets agentId={agentId} />
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

function HowToQuery({ agentId, role }: { agentId: string; role: string | undefined }) {
  const { baseUrl } = useSession();
  return (
    <Card
      title="Use the API"
      actions={
        <LinkButton {...toPage(agentId, "keys")} search={{ kind: "api" }} look="ghost" size="small">
          Keys
        </LinkButton>
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
