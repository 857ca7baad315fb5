import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { resource, useHasRole } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toThread } from "../../state/addresses.ts";
import { Button, LinkButton, TextLink } from "../../ui/button.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { useMedia } from "../../ui/measure.ts";
import { Card, EmptyState, ErrorState, Loading, PageHeader, PageSkeleton } from "../../ui/page.tsx";
import { QueryText } from "../../parts/conversation/exchange-view.tsx";
import { PastAnswer } from "../../parts/conversation/past-exchange.tsx";
import { FailedQuery, isNotFound } from "../../ui/error-pages.tsx";
import { NotConnected } from "../../parts/runtime/connect.tsx";
import { panelWidth, Resizable } from "../../ui/resizable.tsx";
import { Announcer, Composer } from "./composer.tsx";
import { EmptyPlayground } from "./empty-playground.tsx";
import { ExchangeList } from "./exchange-list.tsx";
import { SidePanel } from "./side-panel.tsx";
import { type PlaygroundState, useFollowEnd, usePlayground } from "./use-playground.ts";

const route = getRouteApi("/shell/agents/$agentId/playground");

/** Sends queries as any role and shows each answer's steps; two roles can be compared side by side. */
export function PlaygroundPage() {
  const { agentId } = route.useParams();
  const { again } = route.useSearch();
  const trace = resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: again ?? "" } });
  const run = useQuery({ ...trace, enabled: again !== undefined });
  if (again === undefined || run.data) return <Playground repeated={run.data} />;
  return run.error === null ? <PageSkeleton /> : <FailedQuery title="Playground" query={run} items="runs" />;
}

const settingsWidth = panelWidth("playground", 29);

/** Starts with the query and settings from `repeated`, if given. */
function Playground({ repeated }: { repeated: RunTrace | undefined }) {
  const playground = usePlayground(repeated);
  const { agentId, functions, settings, lanes, tab, openTab } = playground;
  const wide = useMedia(settings.compare ? "(min-width: 1536px)" : "(min-width: 1280px)");
  const panel = <SidePanel playground={playground} />;
  const disconnected = functions.data?.connected === false || functions.error !== null;
  return (
    <>
      <PageHeader title="Playground" actions={<Actions playground={playground} wide={wide} />} />
      {disconnected && (
        <div className="border-line bg-surface mb-4 rounded-lg border p-3">
          <NotConnected agentId={agentId} />
        </div>
      )}
      <Resizable
        width={settingsWidth}
        panel={
          wide && (
            <Card className="sticky top-17 flex max-h-[calc(100dvh-5.5rem)] min-h-0 flex-col overflow-y-auto">
              {panel}
            </Card>
          )
        }
      >
        <Main playground={playground} eventsShown={wide && tab === "events"} />
      </Resizable>
      {!wide && (
        <Drawer open={playground.panelOpen} onClose={() => openTab(undefined)} title="Settings and events">
          {panel}
        </Drawer>
      )}
      {playground.dialog}
      <Announcer shown={lanes.map(({ exchanges }) => exchanges.at(-1))} />
    </>
  );
}

function Actions({ playground, wide }: { playground: PlaygroundState; wide: boolean }) {
  const { agentId, threadId, settings, started, startThreads, tab, openTab } = playground;
  return (
    <>
      {threadId !== undefined && !settings.compare && (
        <LinkButton {...toThread(agentId, threadId)} look="ghost" icon="thread">
          Open thread
        </LinkButton>
      )}
      {started && (
        <Button icon="plus" onClick={startThreads}>
          {settings.compare ? "New threads" : "New thread"}
        </Button>
      )}
      {!wide && (
        <Button icon="settings" onClick={() => openTab(tab)}>
          Settings<span className="max-sm:sr-only"> and events</span>
        </Button>
      )}
    </>
  );
}

/** The conversation, and the form that sends the next query. `eventsShown`: the panel next to it shows events. */
function Main({ playground, eventsShown }: { playground: PlaygroundState; eventsShown: boolean }) {
  const { repeated, running, shown } = playground;
  const maySend = useHasRole("developer");
  const end = useFollowEnd<HTMLDivElement>(running);
  return (
    <div className="flex -mb-5 min-h-[calc(100dvh-8.5rem)] sm:-mb-6 min-w-0 flex-col">
      <div ref={end} className="min-w-0 flex-1 pb-6">
        <Conversation playground={playground}>
          {playground.started ? (
            <ExchangeList playground={playground} selected={eventsShown ? shown?.runId : undefined} />
          ) : repeated ? (
            <OriginalRun run={repeated} />
          ) : (
            <EmptyPlayground playground={playground} />
          )}
        </Conversation>
      </div>
      <div className="bg-page sticky bottom-0 z-10 -mx-1 px-1 pb-4">
        {maySend ? (
          <Composer playground={playground} />
        ) : (
          <p className="border-line bg-surface text-muted rounded-xl border px-4 py-3 text-sm">
            Viewers cannot send queries. Ask an owner for the developer role.
          </p>
        )}
      </div>
    </div>
  );
}

/** The run that was opened here, as it was. */
const OriginalRun = ({ run }: { run: RunTrace }) => (
  <section aria-label="Original run" className="grid min-w-0 gap-3">
    <p className="text-muted text-xs">
      The run as it was. The query and the settings are filled in; sending them starts a new thread.
    </p>
    <EarlierMessages run={run} />
    <QueryText text={run.fullQuery} />
    <PastAnswer past={{ run, query: run.fullQuery, answer: run.response ?? undefined, askedAt: run.createdAt }} open />
  </section>
);

/** Says that a query sent from here lacks the thread's earlier messages, which the model was sent. */
function EarlierMessages({ run: { agentId, runId, threadId } }: { run: RunTrace }) {
  const params = { agentId, runId, step: "0" };
  const sent = useQuery(resource("/agents/:agent_id/runs/:run_id/turns/:step/request", { params }));
  const { earlierMessages = 0 } = sent.data ?? {};
  if (earlierMessages === 0) return null;
  return (
    <Notice tone="warn">
      The model was also sent {countOf(earlierMessages, "earlier message")} of this thread. Queries from here do not
      include them; “Run again” on the run page does. <TextLink {...toThread(agentId, threadId)}>Open thread</TextLink>
    </Notice>
  );
}

/** Shows a conversation, or that its thread is being fetched, is missing or failed to load. */
function Conversation({ playground, children }: { playground: PlaygroundState; children: React.ReactNode }) {
  const { lanes, startThreads } = playground;
  const failed = lanes.find(({ error }) => error !== null);
  if (isNotFound(failed?.error))
    return (
      <EmptyState
        icon="thread"
        title="Thread not found"
        action={<Button onClick={startThreads}>Start new thread</Button>}
      >
        It was erased, or belongs to another agent.
      </EmptyState>
    );
  if (failed) return <ErrorState error={failed.error} onRetry={failed.retry} />;
  if (lanes.some(({ loading }) => loading))
    return <Loading label="Loading the thread" block="h-20 rounded-lg" blocks={2} />;
  return children;
}
