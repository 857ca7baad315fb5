import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { resource } from "../../api/queries.ts";
import { formatDuration } from "../../format/times.ts";
import { rangeOf } from "../../format/time-range.ts";
import { emptyArguments, type ArgumentsDraft } from "../../schema-form/arguments-form.tsx";
import { shapeOf } from "../../schema-form/field-shape.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Json } from "../../ui/code.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { EmptyState, ErrorState } from "../../ui/states.tsx";
import { Badge } from "../../ui/status.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { PageSkeleton } from "../../shell/page-skeleton.tsx";
import { Effect, RoleBadges } from "./function-badges.tsx";
import { FunctionFigures } from "./function-figures.tsx";
import { FunctionHistory } from "./function-history.tsx";
import { FunctionRoles } from "./function-roles.tsx";
import { Trial } from "./trial.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** One function: what it takes, who may call it, how it was called, and a call as any role. */
export function FunctionPage() {
  const { agentId, functionName } = route.useParams();
  const { manifestHash, ...search } = route.useSearch();
  const set = useQuery({
    ...resource("/agents/:agent_id/functions", {
      params: { agent_id: agentId },
      query: { ...rangeOf(search), manifestHash },
    }),
    placeholderData: keepPreviousData,
  });
  if (set.error && !set.data) return <ErrorState error={set.error} onRetry={() => void set.refetch()} />;
  if (!set.data) return <PageSkeleton />;
  const one = set.data.functions.find(({ name }) => name === functionName);
  return one ? <Shown one={one} set={set.data} /> : <Missing name={functionName} agentId={agentId} />;
}

function Shown({ one, set }: { one: ConsoleFunction; set: FunctionSet }) {
  const { tab = "try", range, from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const shape = shapeOf(one.inputSchema);
  const [written, setWritten] = useState<ArgumentsDraft>(() => emptyArguments(shape));
  const change = (changed: Partial<ReturnType<typeof route.useSearch>>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  return (
    <>
      <PageHeader
        title={one.name}
        name={<span className="font-mono">{one.name}</span>}
        description={one.description}
        actions={<TimeRange value={{ range, from, to }} onChange={change} />}
      >
        <Facts one={one} />
      </PageHeader>
      <div className="grid gap-5">
        <FunctionFigures one={one} />
        <Tabs
          value={tab}
          onChange={(next) => change({ tab: next === "try" ? undefined : next })}
          tabs={[
            {
              value: "try",
              label: "Try it",
              content: <Trial one={one} set={set} shape={shape} written={written} onWritten={setWritten} />,
            },
            { value: "calls", label: "Calls", content: <FunctionHistory /> },
            { value: "roles", label: "Roles", content: <FunctionRoles one={one} manifestHash={set.manifestHash} /> },
            {
              value: "schema",
              label: "Schema",
              content: <Json value={one.inputSchema} name={`JSON Schema of ${one.name}`} />,
            },
          ]}
        />
      </div>
    </>
  );
}

function Facts({ one }: { one: ConsoleFunction }) {
  const { protectedMembers = [] } = one;
  return (
    <div className="text-muted flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
      <Effect effect={one.effect} />
      <RoleBadges {...one} />
      <span>{one.idempotent ? "may be repeated" : "never repeated"}</span>
      <span>times out after {formatDuration(one.timeoutMs)}</span>
      {protectedMembers.length > 0 && (
        <span className="inline-flex flex-wrap items-center gap-1">
          protects{" "}
          {protectedMembers.map((member) => (
            <Badge key={member} tone="warn" icon="access">
              {member === "$" ? "the whole result" : member}
            </Badge>
          ))}
        </span>
      )}
    </div>
  );
}

function Missing({ name, agentId }: { name: string; agentId: string }) {
  return (
    <>
      <PageHeader title={name} name={<span className="font-mono">{name}</span>} />
      <Card>
        <EmptyState
          icon="function"
          title="This set has no such function"
          action={
            <Link to="/agents/$agentId/functions" params={{ agentId }} className={buttonClass("primary")}>
              All functions
            </Link>
          }
        >
          It may have been renamed or taken out. The versions of the functions tell what changed.
        </EmptyState>
      </Card>
    </>
  );
}
