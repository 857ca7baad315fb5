import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api, refetch } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { toPage } from "../../state/addresses.ts";
import { Button, GuardedButton, TextLink } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Card, Fault, Loading, PageHeader, Skeleton } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Count, Money, Time } from "../../ui/values.tsx";
import { QueryText } from "../../parts/conversation/exchange-view.tsx";
import { exchangesOf, shownTitle } from "../../parts/conversation/exchange.ts";
import { PastAnswer, threadPages } from "../../parts/conversation/past-exchange.tsx";
import { FailedQuery } from "../../ui/error-pages.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";

const route = getRouteApi("/shell/agents/$agentId/threads/$threadId");

/** A thread's queries and answers, each with its run. */
export function ThreadPage() {
  const { agentId, threadId } = route.useParams();
  const [erasing, setErasing] = useState(false);
  const thread = useInfiniteQuery(threadPages(agentId, threadId));
  if (thread.error && !thread.data) return <FailedQuery title="Thread" query={thread} items="threads" />;
  const title = thread.data ? shownTitle(thread.data.title) : "Thread";
  return (
    <>
      <PageHeader
        title={title}
        actions={
          <>
            <GuardedButton needs="developer" icon="trash" disabled={!thread.data} onClick={() => setErasing(true)}>
              Erase
            </GuardedButton>
            <PlaygroundLink agentId={agentId} icon="chat" search={{ thread: threadId, ...lastCaller(thread.data) }}>
              Continue in playground
            </PlaygroundLink>
          </>
        }
      />
      <div className="grid min-w-0 items-start gap-5 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="grid min-w-0 gap-6">
          {thread.hasNextPage && (
            <Button
              className="justify-self-center"
              busy={thread.isFetchingNextPage}
              onClick={() => void thread.fetchNextPage()}
            >
              Show earlier queries
            </Button>
          )}
          <Fault error={thread.isFetchNextPageError ? thread.error : null} />
          <Conversation thread={thread.data} />
        </div>
        <div className="min-w-0 max-xl:order-first xl:sticky xl:top-17">
          <About thread={thread.data} />
        </div>
      </div>
      {erasing && thread.data && <EraseThread thread={thread.data} onClose={() => setErasing(false)} />}
    </>
  );
}

/** The last query's role and session, for the playground to continue with. */
function lastCaller(thread: ConsoleThreadDetail | undefined): { role?: string; session?: string } {
  const last = thread?.runs.at(-1);
  return { ...(last?.role && { role: last.role }), ...(last?.sessionId && { session: last.sessionId }) };
}

function Conversation({ thread }: { thread: ConsoleThreadDetail | undefined }) {
  if (!thread) return <Loading label="Loading the conversation" block="h-20 rounded-lg" blocks={3} />;
  return (
    <ol aria-label="Conversation" className="grid min-w-0 gap-6">
      {exchangesOf(thread).map((past) => (
        <li key={past.run.runId} className="grid min-w-0 gap-3">
          <QueryText text={past.query} />
          <PastAnswer past={past} />
        </li>
      ))}
    </ol>
  );
}

function About({ thread }: { thread: ConsoleThreadDetail | undefined }) {
  const { agentId, threadId } = route.useParams();
  const figures = thread?.figures;
  const loading = <Skeleton className="h-4 w-24" />;
  const facts: [name: string, value: ReactNode][] = [
    ["Thread", <CopyableText text={threadId} label="Copy thread ID" />],
    ["Session", thread ? <SessionLink agentId={agentId} id={thread.sessionId} /> : loading],
    [
      "Queries",
      thread ? (
        <TextLink {...toPage(agentId, "runs")} search={{ threadId }}>
          <Count value={thread.figures.queries} />
        </TextLink>
      ) : (
        loading
      ),
    ],
    ["Cost", <Money usd={figures?.costUsd ?? null} />],
    ["Input tokens", <Count value={figures?.inputTokens ?? null} />],
    ["Output tokens", <Count value={figures?.outputTokens ?? null} />],
    ["Created", thread ? <Time at={thread.createdAt} /> : loading],
    ["Updated", thread ? <Time at={thread.updatedAt} /> : loading],
  ];
  return (
    <Card>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 text-sm sm:grid-cols-4 xl:grid-cols-2">
        {facts.map(([name, value]) => (
          <div key={name} className="min-w-0 first:col-span-full">
            <dt className="text-muted text-xs">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function SessionLink({ agentId, id }: { agentId: string; id: string | null }) {
  if (id === null) return <span className="text-faint">none</span>;
  return (
    <TextLink {...toPage(agentId, "threads")} search={{ sessionId: id }} className="font-mono text-xs break-all">
      {id}
    </TextLink>
  );
}

/** Erases a thread after a confirmation. */
function EraseThread({ thread, onClose }: { thread: ConsoleThreadDetail; onClose: () => void }) {
  const { title, runs, figures } = thread;
  const { agentId, threadId } = route.useParams();
  const navigate = useNavigate();
  const running = runs.filter(({ finishedAt }) => finishedAt === null).length;
  return (
    <FormDialog
      title="Erase this thread?"
      submit="Erase thread"
      look="danger"
      icon="trash"
      send={() => api.delete("/agents/:agent_id/threads/:thread_id", { params: { agentId, threadId } })}
      onSent={async () => {
        await navigate(toPage(agentId, "threads"));
        showSuccess("Thread erased", shownTitle(title));
        void refetch("/agents/:agent_id/threads", "/agents/:agent_id/runs", "/agents/:agent_id/sessions");
      }}
      className="grid gap-3"
      onClose={onClose}
    >
      <p>
        Erases “<span className="font-medium">{shownTitle(title)}</span>” with{" "}
        {figures.queries === 1 ? "its query" : `all ${figures.queries} queries`}, messages, events and calls. Costs and
        the audit log remain. This cannot be undone.
      </p>
      {running > 0 && (
        <p className="text-warn">{countOf(running, "query is", "queries are")} still running and will be ended.</p>
      )}
    </FormDialog>
  );
}
