import { useQuery, useQueryErrorResetBoundary } from "@tanstack/react-query";
import { type ErrorComponentProps, Outlet, useParams, useRouter } from "@tanstack/react-router";
import { ApiError } from "../api/api-error.ts";
import { resource } from "../api/api.ts";
import { LinkButton } from "./button.tsx";
import { ErrorState, PageHeader } from "./page.tsx";

/** Shown in place of a page that failed to load or render. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const queries = useQueryErrorResetBoundary();
  if (isNotFound(error)) return <NotFoundPage why={error.message} />;
  return (
    <>
      <PageHeader title="Couldn't load this page" />
      <ErrorState
        error={error}
        titled={false}
        onRetry={() => {
          queries.reset();
          reset();
          void router.invalidate();
        }}
      />
    </>
  );
}

interface FailedQueryProps {
  title: string;
  query: { error: unknown; refetch: () => unknown };
  /** What the query asked for one of. */
  items: Items;
}

/** Shown in place of a page whose item failed to load, or does not exist. */
export const FailedQuery = ({ title, query: { error, refetch }, items }: FailedQueryProps) =>
  isNotFound(error) ? (
    <NotFoundPage why={error.message} items={items} />
  ) : (
    <>
      <PageHeader title={title} />
      <ErrorState error={error} onRetry={() => void refetch()} />
    </>
  );

/** An agent's pages, or a way on if it is deleted while they are open. */
export function AgentPages() {
  const { agentId = "" } = useParams({ strict: false });
  const { error } = useQuery(resource("/agents/:agent_id", { params: { agentId } }));
  return isNotFound(error) ? <NotFoundPage why={error.message} /> : <Outlet />;
}

export const isNotFound = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === "not_found";

type Items = "agents" | "runs" | "threads";

interface NotFoundPageProps {
  /** The API's message. */
  why?: string;
  /** The list that the page links to. */
  items?: Items;
}

/** Shown for unknown addresses and missing items. */
export function NotFoundPage({ why, items = "agents" }: NotFoundPageProps) {
  const { agentId } = useParams({ strict: false });
  return (
    <div className="grid justify-items-center py-16 text-center">
      <PageHeader title="Not found" description={why ?? "The address is wrong, or the item was deleted."} />
      {agentId === undefined || items === "agents" ? (
        <LinkButton to="/agents" look="primary">
          All agents
        </LinkButton>
      ) : (
        <LinkButton to={`/agents/$agentId/${items}`} params={{ agentId }} look="primary">
          All {items} of this agent
        </LinkButton>
      )}
    </div>
  );
}
