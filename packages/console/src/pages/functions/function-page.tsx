import type { AccessMatrix, ConsoleFunction, FunctionSet, RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { resource, useFiltered } from "../../api/api.ts";
import { approvalText } from "../../format/approval.ts";
import { rangeOf } from "../../format/time-range.ts";
import { formatDuration } from "../../format/times.ts";
import { shapeOf } from "../../parts/schema-form/field-shape.ts";
import { toPage } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { DataTable, rowsOf } from "../../ui/table/data-table.tsx";
import { Json } from "../../ui/text/json.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Card, EmptyState, ErrorState, PageHeader, PageSkeleton } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { Badge, Count, Effect, fieldLabel, RoleBadges, Status, Time } from "../../ui/values.tsx";
import { Badges } from "../../ui/badges.tsx";
import { type MatrixCell, rowsOf as matrixRowsOf, whyOf } from "../../parts/access/matrix-model.ts";
import { isCall, isOpen } from "../../parts/run/run-facts.ts";
import { argumentsDraft, type EarlierCall, earlierCall } from "./earlier-call.ts";
import { FunctionFigures, FunctionHistory } from "./function-history.tsx";
import { TestCall, type TestForm } from "./test-call.tsx";
import type { TestRunOptions } from "./test-run.ts";

const route = getRouteApi("/shell/agents/$agentId/functions/$functionName");

/** One function: its declaration, figures, roles and schema, and a form for test calls. */
export function FunctionPage() {
  const { agentId, functionName } = route.useParams();
  const { manifestHash, again: inUrl, call: callInUrl, ...search } = route.useSearch();
  const change = useSearchChange(route);
  /**
   * The open form's test calls. The URL names the last one, so that Back fills the form again; the open form stays as
   * it is.
   */
  const [begun, setBegun] = useState<{ runIds: string[]; filledBy: Record<"again" | "call", string | undefined> }>();
  // The URL changes after the state: until then, it names the test call before the last one.
  const ofForm = begun !== undefined && inUrl !== undefined && begun.runIds.includes(inUrl) ? begun : undefined;
  const filledBy = ofForm?.filledBy ?? { again: inUrl, call: callInUrl };
  const { again, call } = filledBy;
  const trace = resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: again ?? "" } });
  const run = useQuery({ ...trace, enabled: again !== undefined });
  const query = { ...rangeOf(search), manifestHash };
  const set = useFiltered("/agents/:agent_id/functions", { params: { agentId }, query });
  if (set.error && !set.data) return <ErrorState error={set.error} onRetry={() => void set.refetch()} />;
  if (!set.data || run.isLoading) return <PageSkeleton />;
  const fn = set.data.functions.find(({ name }) => name === functionName);
  const earlier =
    again === undefined ? undefined : ((run.data && earlierCall(run.data, functionName, call)) ?? "missing");
  return fn ? (
    <LoadedFunction
      key={`${again} ${call}`}
      fn={fn}
      set={set.data}
      earlier={earlier}
      open={ofForm === undefined && earlier !== "missing" ? openCall(run.data, earlier) : undefined}
      onBegin={(runId) => {
        setBegun({ runIds: [...(ofForm?.runIds ?? []), runId], filledBy });
        change({ again: runId, call: undefined });
      }}
    />
  ) : (
    <Missing name={functionName} agentId={agentId} />
  );
}

/** The open call in a run that calls the function by hand. */
function openCall(run: RunTrace | undefined, earlier: EarlierCall | undefined): LoadedFunctionProps["open"] {
  if (!run || !earlier || !isCall(run.source) || !isOpen(run.status)) return undefined;
  const { runId, role, context, createdAt } = run;
  const sent = { role: role ?? undefined, arguments: earlier.arguments, context };
  return { runId, sent, sentAt: Date.parse(createdAt) };
}

interface LoadedFunctionProps {
  fn: ConsoleFunction;
  set: FunctionSet;
  /** Fills the test call form; `missing` if the linked call was not found. */
  earlier: EarlierCall | "missing" | undefined;
  /** That call, if it has not ended. */
  open: TestRunOptions["open"];
  /** Called with each test call's run. */
  onBegin: (runId: string) => void;
}

function LoadedFunction({ fn, set, earlier, open, onBegin }: LoadedFunctionProps) {
  const { tab = "try", range, from, to } = route.useSearch();
  const change = useSearchChange(route);
  const found = earlier === "missing" ? undefined : earlier;
  const notice = noticeOf(earlier);
  const schemaName = `JSON Schema of ${fn.name}`;
  // Kept here, because the form is removed with its tab.
  const form = useState<TestForm>(() => ({
    written: argumentsDraft(shapeOf(fn.inputSchema), found?.arguments),
    context: found?.context ?? "",
  }));
  return (
    <>
      <PageHeader
        title={fn.name}
        name={<span className="font-mono">{fn.name}</span>}
        description={fn.description}
        actions={<TimeRange value={{ range, from, to }} onChange={change} />}
      >
        <Facts {...fn} />
      </PageHeader>
      <div className="grid gap-5">
        <FunctionFigures fn={fn} />
        <Tabs
          value={tab}
          onChange={(next) => change({ tab: next === "try" ? undefined : next })}
          tabs={[
            { value: "try", label: "Test call", content: <TestCall {...{ fn, set, form, open, onBegin, notice }} /> },
            { value: "calls", label: "Calls", content: <FunctionHistory /> },
            { value: "roles", label: "Roles", content: <FunctionRoles fn={fn} manifestHash={set.manifestHash} /> },
            { value: "schema", label: "Schema", content: <Json value={fn.inputSchema} name={schemaName} open /> },
            ...(fn.cases ? [{ value: "cases", label: "Cases", content: <Cases cases={fn.cases} /> } as const] : []),
          ]}
        />
      </div>
    </>
  );
}

/** Why the form lacks the earlier call's arguments. */
function noticeOf(earlier: LoadedFunctionProps["earlier"]): string | undefined {
  if (earlier === "missing") return "The earlier call was not found. It may have been erased. Enter arguments below.";
  if (earlier === undefined || earlier.arguments !== undefined) return undefined;
  return "The arguments of this call are too large to copy. Enter them below.";
}

const Facts = ({ restrictedFields = [], title, tags = [], deprecated, approval, ...fn }: ConsoleFunction) => (
  <div className="text-muted flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
    {title !== undefined && <span className="text-text font-medium">{title}</span>}
    {deprecated !== undefined && <Badge tone="warn">deprecated: {deprecated}</Badge>}
    {approval && (
      <Badge tone="warn" icon="clock">
        {approval.conditional ? "" : "needs "}
        {approvalText(approval)}
      </Badge>
    )}
    <Badges of={tags} />
    <Effect effect={fn.effect} />
    <RoleBadges {...fn} />
    <span>{fn.idempotent ? "Retried" : "Not retried"}</span>
    <span>Timeout {formatDuration(fn.timeoutMs)}</span>
    {restrictedFields.length > 0 && (
      <span className="inline-flex flex-wrap items-center gap-1">
        Restricted fields <Badges of={restrictedFields.map(fieldLabel)} tone="warn" icon="access" />
      </span>
    )}
  </div>
);

/** The owner's cases, and how each role's call was decided when the runtime connected. */
const Cases = ({ cases }: { cases: NonNullable<ConsoleFunction["cases"]> }) => (
  <Card title="Cases" description="How the owner's code decided when the runtime connected; no handler ran">
    <dl className="grid gap-3 text-sm">
      {cases.map(({ name, verdicts }) => (
        <div key={name} className="grid gap-1">
          <dt className="font-mono text-xs">{name}</dt>
          <dd className="flex flex-wrap gap-x-4 gap-y-1">
            {Object.entries(verdicts).map(([role, verdict]) => (
              <span key={role} className="inline-flex items-center gap-1.5">
                {role} <Status state={verdict} />
              </span>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  </Card>
);

const Missing = ({ name, agentId }: { name: string; agentId: string }) => (
  <>
    <PageHeader title={name} name={<span className="font-mono">{name}</span>} />
    <Card>
      <EmptyState
        icon="function"
        title="Function not found"
        action={
          <LinkButton {...toPage(agentId, "functions")} look="primary">
            Show all functions
          </LinkButton>
        }
      >
        It may have been renamed or removed. Compare versions of the functions to see what changed.
      </EmptyState>
    </Card>
  </>
);

type Row = MatrixCell & { role: string | null; why: string };

/** Which roles may call the function, and why. */
function FunctionRoles({ fn, manifestHash }: { fn: ConsoleFunction; manifestHash: string }) {
  const { agentId } = route.useParams();
  const change = useSearchChange(route);
  const access = useQuery(resource("/agents/:agent_id/access", { params: { agentId }, query: { manifestHash } }));
  const rows = access.data && rolesOfFunction(access.data, fn.name);
  return (
    <DataTable
      title="Access by role"
      description="Calls in the last 30 days"
      caption={`Roles and ${fn.name}`}
      query={rowsOf(access, rows)}
      columns={COLUMNS}
      rowKey={({ role }) => role ?? ""}
      actions={({ role }) => (
        <Button look="ghost" size="small" onClick={() => change({ tab: undefined, role: role ?? undefined })}>
          Test as {role ?? "no role"}
        </Button>
      )}
      empty={null}
    />
  );
}

function rolesOfFunction({ functions, roles }: AccessMatrix, functionName: string): Row[] {
  const rows = matrixRowsOf({ functions: functions.filter(({ name }) => name === functionName), roles });
  return rows.flatMap((row) =>
    row.cells.map((cell, index) => {
      const role = roles[index] ?? null;
      return { ...cell, role, why: whyOf(row, cell, role) };
    }),
  );
}

const COLUMNS: Column<Row>[] = [
  {
    head: "Role",
    cell: ({ role }) =>
      role === null ? <span className="text-muted italic">no role</span> : <span className="font-medium">{role}</span>,
  },
  { head: "Verdict", cell: ({ verdict }) => <Status state={verdict} /> },
  {
    head: "Why",
    className: "sm:w-1/2 max-sm:[&>:last-child]:text-left",
    cell: ({ why }) => <span className="text-muted">{why}</span>,
  },
  { head: "Calls", align: "end", cell: ({ calls }) => <Count value={calls} /> },
  {
    head: "Denied",
    align: "end",
    cell: ({ denied }) => (
      <span className={denied > 0 ? "text-warn" : "text-faint"}>
        <Count value={denied} />
      </span>
    ),
  },
  { head: "Last call", align: "end", from: "lg", cell: ({ lastAt }) => <Time at={lastAt} /> },
];
