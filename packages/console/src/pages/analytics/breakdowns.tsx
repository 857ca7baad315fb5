import type { Analytics } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ShareBar } from "../../charts/small-charts.tsx";
import { formatShare } from "../../format/numbers.ts";
import type { RangeSearch } from "../../format/time-range.ts";
import { Button } from "../../ui/button.tsx";
import { allRows, type Column, DataTable, type RowLinkProps } from "../../ui/data-table.tsx";
import { Card, EmptyState } from "../../ui/page.tsx";
import { Count, Duration, Money } from "../../ui/values.tsx";
import { callParts, OUTCOME_LOOKS, SERIES_LOOKS } from "./series.ts";

type Role = Analytics["roles"][number];
type Model = Analytics["models"][number];

/** Queries by role; a click on a role filters the page. */
export function RolesTable({ roles, onRole }: { roles: Role[]; onRole: (role: string) => void }) {
  const rows = roles.toSorted((a, b) => b.queries - a.queries);
  const max = Math.max(0, ...rows.map(({ queries }) => queries));
  return (
    <Card title="Roles" flush>
      <DataTable
        caption="Roles"
        query={allRows(rows)}
        columns={roleColumns(max, onRole)}
        rowKey={({ role }) => role ?? ""}
        empty={<EmptyState icon="access" title="No queries" />}
      />
    </Card>
  );
}

const roleColumns = (max: number, onRole: (role: string) => void): Column<Role>[] => [
  {
    head: "Role",
    cell: ({ role }) =>
      role === null ? (
        <span className="text-muted">no role</span>
      ) : (
        <button type="button" className="text-accent max-w-56 truncate hover:underline" onClick={() => onRole(role)}>
          {role}
          <span className="sr-only">: show only this role</span>
        </button>
      ),
  },
  {
    head: "Queries",
    className: "sm:w-1/4 xl:w-2/5",
    cell: ({ queries, failed }) => (
      <span className="flex items-center gap-3 max-sm:justify-end">
        <span className="min-w-0 flex-1 max-sm:hidden">
          <ShareBar
            max={max}
            parts={[
              { value: queries - failed, look: SERIES_LOOKS[0]! },
              { value: failed, look: OUTCOME_LOOKS.failed },
            ]}
          />
        </span>
        <span className="min-w-10 shrink-0 text-right">
          <Count value={queries} />
        </span>
      </span>
    ),
  },
  {
    head: "Failed",
    align: "end",
    cell: ({ failed, queries }) => <Part part={failed} of={queries} className="text-bad" />,
  },
  { head: "Cost", align: "end", cell: ({ costUsd }) => <Money usd={costUsd} /> },
];

/** Turns, tokens and cost by model. */
export const ModelsTable = ({ models }: { models: Model[] }) => (
  <Card title="Models" flush>
    <DataTable
      caption="Models"
      query={allRows(models.toSorted((a, b) => b.costUsd - a.costUsd || b.turns - a.turns))}
      columns={MODEL_COLUMNS}
      rowKey={({ provider, model }) => `${provider}/${model}`}
      empty={<EmptyState icon="agent" title="No model turns" />}
    />
  </Card>
);

const MODEL_COLUMNS: Column<Model>[] = [
  {
    head: "Model",
    cell: ({ provider, model }) => (
      <span className="block min-w-0">
        <span className="block">{model}</span>
        {provider !== model && <span className="text-faint block text-xs">{provider}</span>}
      </span>
    ),
  },
  { head: "Turns", align: "end", cell: ({ turns }) => <Count value={turns} /> },
  { head: "Tokens in", align: "end", cell: ({ inputTokens }) => <Count value={inputTokens} short /> },
  {
    head: "From cache",
    align: "end",
    from: "md",
    cell: ({ cachedInputTokens, inputTokens }) => formatShare(cachedInputTokens, inputTokens),
  },
  {
    head: "To cache",
    align: "end",
    from: "md",
    cell: ({ cacheWriteInputTokens, inputTokens }) => formatShare(cacheWriteInputTokens, inputTokens),
  },
  { head: "Tokens out", align: "end", from: "md", cell: ({ outputTokens }) => <Count value={outputTokens} short /> },
  { head: "Cost", align: "end", cell: ({ costUsd }) => <Money usd={costUsd} /> },
];

type Row = Analytics["functions"][number];

const SHOWN = 10;

interface FunctionsTableProps {
  functions: Row[];
  agentId: string | undefined;
  range: RangeSearch;
}

/** The most called functions with their outcomes, linked if they are of one agent. */
export function FunctionsTable({ functions, agentId, range }: FunctionsTableProps) {
  const [all, setAll] = useState(false);
  const max = Math.max(0, ...functions.map(({ calls }) => calls));
  return (
    <Card title="Most called functions" flush>
      <DataTable
        caption="Most called functions"
        query={allRows(all ? functions : functions.slice(0, SHOWN))}
        columns={columnsOf(max)}
        rowKey={({ name }) => name}
        {...(agentId !== undefined && {
          link: ({ name }: Row, props: RowLinkProps) => (
            <Link
              to="/agents/$agentId/functions/$functionName"
              params={{ agentId, functionName: name }}
              search={range}
              {...props}
            />
          ),
        })}
        empty={
          <EmptyState icon="function" title="No function calls">
            Calls are counted when they end.
          </EmptyState>
        }
      />
      {functions.length > SHOWN && (
        <div className="border-line flex justify-center border-t p-2">
          <Button look="ghost" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? `Show first ${SHOWN}` : `Show all ${functions.length}`}
          </Button>
        </div>
      )}
    </Card>
  );
}

const columnsOf = (max: number): Column<Row>[] => [
  { head: "Function", cell: ({ name }) => <span className="font-mono text-xs">{name}</span> },
  {
    head: "Calls",
    className: "sm:w-1/4 xl:w-2/5",
    cell: (row) => (
      <span className="flex items-center gap-3 max-sm:justify-end">
        <span className="min-w-0 flex-1 max-sm:hidden">
          <ShareBar max={max} parts={callParts(row)} />
        </span>
        <span className="min-w-10 shrink-0 text-right">
          <Count value={row.calls} />
        </span>
      </span>
    ),
  },
  { head: "Failed", align: "end", cell: ({ failed, calls }) => <Part part={failed} of={calls} className="text-bad" /> },
  {
    head: "Denied",
    align: "end",
    cell: ({ denied, calls }) => <Part part={denied} of={calls} className="text-warn" />,
  },
  { head: "p50", align: "end", from: "lg", cell: ({ p50Ms }) => <Duration ms={p50Ms} /> },
  { head: "p95", align: "end", from: "md", cell: ({ p95Ms }) => <Duration ms={p95Ms} /> },
  { head: "Total time", align: "end", from: "xl", cell: ({ totalMs }) => <Duration ms={totalMs} /> },
];

/** A count with its share; a faint zero if it is zero. */
function Part({ part, of, className }: { part: number; of: number; className: string }) {
  if (part === 0) return <span className="text-faint">0</span>;
  return (
    <span className={`whitespace-nowrap ${className}`}>
      <Count value={part} /> <span className="text-xs">({formatShare(part, of)})</span>
    </span>
  );
}
