import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Count, Money, Time } from "../../ui/figures.tsx";
import { GuardedButton, GuardedLink } from "../../ui/guarded-button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ErrorState, Fault, Loading, Skeleton } from "../../ui/states.tsx";
import { Asked } from "../conversation/asked.tsx";
import { exchangesOf, shownTitle } from "../conversation/exchange.ts";
import { PastAnswer } from "../conversation/past-exchange.tsx";
import { threadParts } from "../conversation/thread-parts.ts";

const EraseThread = lazy(async () => ({ default: (await import("./erase-thread.tsx")).EraseThread }));

const route = getRouteApi("/shell/agents/$agentId/threads/$threadId");

/** A conversation as it went, with the run behind each answer. */
export function ThreadPage() {
  const { agentId, threadId } = route.useParams();
  const [erasing, setErasing] = useState(false);
  const thread = useInfiniteQuery(threadParts(agentId, threadId));
  if (thread.error && !thread.data)
    return (
      <>
        <PageHeader title="Thread" />
        <ErrorState error={thread.error} onRetry={() => void thread.refetch()} />
      </>
    );
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
            <GuardedLink
              needs="developer"
              look="primary"
              icon="chat"
              link={
                <Link
                  to="/agents/$agentId/playground"
                  params={{ agentId }}
                  search={{ thread: threadId, ...lastAsked(thread.data) }}
                />
              }
            >
              Continue in playground
            </GuardedLink>
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
          <About agentId={agentId} threadId={threadId} thread={thread.data} />
        </div>
      </div>
      <Suspense>
        {erasing && thread.data && (
          <EraseThread agentId={agentId} thread={thread.data} onClose={() => setErasing(false)} />
        )}
      </Suspense>
    </>
  );
}

/** The playground goes on as the role that asked last. */
function lastAsked(thread: ConsoleThreadDetail | undefined): { role?: string; session?: string } {
  const last = thread?.runs.at(-1);
  return { ...(last?.role && { role: last.role }), ...(last?.sessionId && { session: last.sessionId }) };
}

function Conversation({ thread }: { thread: ConsoleThreadDetail | undefined }) {
  if (!thread)
    return (
      <Loading label="Loading the conversation">
        <div className="grid gap-4">
          <Skeleton className="ml-auto h-10 w-2/3 rounded-lg" />
          <Skeleton className="h-24 w-full rounded-lg" />
          <Skeleton className="ml-auto h-10 w-1/2 rounded-lg" />
          <Skeleton className="h-24 w-full rounded-lg" />
        </div>
      </Loading>
    );
  return (
    <ol aria-label="Conversation" className="grid min-w-0 gap-6">
      {exchangesOf(thread).map((past) => (
        <li key={past.run.runId} className="grid min-w-0 gap-3">
          <Asked text={past.query} />
          <PastAnswer past={past} />
        </li>
      ))}
    </ol>
  );
}

function About({
  agentId,
  threadId,
  thread,
}: {
  agentId: string;
  threadId: string;
  thread: ConsoleThreadDetail | undefined;
}) {
  const figures = thread?.figures;
  const waiting = <Skeleton className="h-4 w-24" />;
  const facts: [name: string, value: ReactNode][] = [
    [
      "Thread",
      <span key="id" className="flex items-start gap-1">
        <code className="min-w-0 font-mono text-xs leading-5 break-all">{threadId}</code>
        <CopyButton text={threadId} label="Copy thread id" />
      </span>,
    ],
    ["Session", thread ? <SessionLink key="session" agentId={agentId} id={thread.sessionId} /> : waiting],
    [
      "Queries",
      thread ? (
        <Link
          to="/agents/$agentId/runs"
          params={{ agentId }}
          search={{ threadId }}
          className="text-accent underline underline-offset-2"
        >
          <Count value={thread.figures.queries} />
        </Link>
      ) : (
        waiting
      ),
    ],
    ["Cost", <Money key="cost" usd={figures?.costUsd ?? null} />],
    ["Input tokens", <Count key="input" value={figures?.inputTokens ?? null} />],
    ["Output tokens", <Count key="output" value={figures?.outputTokens ?? null} />],
    ["Begun", thread ? <Time key="begun" at={thread.createdAt} /> : waiting],
    ["Changed", thread ? <Time key="changed" at={thread.updatedAt} /> : waiting],
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
    <Link
      to="/agents/$agentId/threads"
      params={{ agentId }}
      search={{ sessionId: id }}
      className="text-accent font-mono text-xs break-all underline underline-offset-2"
    >
      {id}
    </Link>
  );
}
