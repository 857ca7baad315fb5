import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { resource } from "../../api/queries.ts";
import { ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { Badge, type Tone } from "../../ui/status.tsx";
import { changesOf, type Difference, type FunctionChange } from "./set-changes.ts";

/** What is different between two function sets, down to members of schemas. */
export function SetComparison({ agentId, before, after }: { agentId: string; before: string; after: string }) {
  const setOf = (manifestHash: string) =>
    resource("/agents/:agent_id/functions", { params: { agent_id: agentId }, query: { manifestHash } });
  const old = useQuery(setOf(before));
  const now = useQuery(setOf(after));
  const error = old.error ?? now.error;
  if (error)
    return (
      <ErrorState
        error={error}
        onRetry={() => {
          void old.refetch();
          void now.refetch();
        }}
      />
    );
  if (!old.data || !now.data)
    return (
      <Loading>
        <Skeleton className="h-24 w-full" />
      </Loading>
    );
  const { service, functions } = changesOf(old.data, now.data);
  if (service.length + functions.length === 0)
    return <p className="text-muted text-sm">Nothing is different between these two.</p>;
  return (
    <div className="grid gap-5">
      {service.length > 0 && (
        <section className="grid gap-2">
          <h3 className="font-semibold">The service</h3>
          <Differences differences={service} />
        </section>
      )}
      {functions.map((change) => (
        <ChangedFunction key={change.name} agentId={agentId} change={change} now={after} />
      ))}
    </div>
  );
}

const KINDS: Record<FunctionChange["kind"], Tone> = { added: "ok", removed: "bad", changed: "info" };

function ChangedFunction({ agentId, change, now }: { agentId: string; change: FunctionChange; now: string }) {
  const { name, kind, differences } = change;
  return (
    <section className="grid gap-2">
      <h3 className="flex flex-wrap items-center gap-2">
        {kind === "removed" ? (
          <span className="font-mono text-sm font-medium">{name}</span>
        ) : (
          <Link
            to="/agents/$agentId/functions/$functionName"
            params={{ agentId, functionName: name }}
            search={{ manifestHash: now }}
            className="text-accent font-mono text-sm font-medium underline-offset-2 hover:underline"
          >
            {name}
          </Link>
        )}
        <Badge tone={KINDS[kind]} icon={kind === "added" ? "plus" : kind === "removed" ? "close" : "edit"}>
          {kind}
        </Badge>
      </h3>
      {differences.length > 0 && <Differences differences={differences} />}
    </section>
  );
}

function Differences({ differences }: { differences: readonly Difference[] }) {
  return (
    <ul className="border-line divide-line divide-y rounded-lg border text-sm">
      {differences.map(({ path, before, after }) => (
        <li key={path} className="grid gap-1 px-3 py-2 md:grid-cols-[minmax(10rem,1fr)_3fr] md:gap-4">
          <code className="text-muted font-mono text-xs leading-5 break-words">{path}</code>
          <div className="grid min-w-0 gap-1">
            {before !== undefined && <Side sign="−" word="before" value={before} tone="bg-bad-soft text-bad" />}
            {after !== undefined && <Side sign="+" word="after" value={after} tone="bg-ok-soft text-ok" />}
          </div>
        </li>
      ))}
    </ul>
  );
}

const Side = ({ sign, word, value, tone }: { sign: string; word: string; value: unknown; tone: string }) => (
  <p className={`flex min-w-0 gap-2 rounded px-2 py-0.5 font-mono text-xs leading-5 ${tone}`}>
    <span aria-hidden="true">{sign}</span>
    <span className="sr-only">{word}: </span>
    <span className="min-w-0 break-words whitespace-pre-wrap">{written(value)}</span>
  </p>
);

/** Texts as they are, lists of scalars in a line, and the rest as indented JSON. */
function written(value: unknown): string {
  if (typeof value === "string") return value;
  const flat = Array.isArray(value) && value.every((one) => typeof one !== "object");
  return flat ? value.join(", ") : JSON.stringify(value, null, 1);
}
