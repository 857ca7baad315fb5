import type { Analytics } from "@patchbay/protocol/console";
import { type ReactNode, useState } from "react";
import { ShareBar } from "../../charts/share-bar.tsx";
import { formatShare } from "../../format/numbers.ts";
import { toFunction } from "../../state/addresses.ts";
import { Button, QuietLink } from "../../ui/button.tsx";
import { allRows, DataTable } from "../../ui/table/data-table.tsx";
import { EmptyState } from "../../ui/page.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Cost, Count, Duration, Failed, Money, TwoLines } from "../../ui/values.tsx";
import { SOURCE_LABELS } from "../../parts/run/run-facts.ts";
import { type RunsSearch, runsLink, type Scope } from "../../parts/figures/runs-link.tsx";
import { callParts, OUTCOME_LOOKS, SERIES_LOOKS } from "../../parts/figures/series.ts";

/** A part of the queries, such as one key's queries. */
interface Part extends Pick<Analytics["roles"][number], "queries" | "failed" | "costUsd"> {
  key: string;
  name: ReactNode;
  /** Search parameters for its runs. */
  runs: Partial<RunsSearch>;
  /** Default: those of the page. */
  agentId?: string;
}

interface TableProps {
  /** Undefined for the figures of all agents. */
  agentId: string | undefined;
  scope: Scope;
}

/** Query tables by agent, role, key, source and error code. Each row leads to its runs. */
export const Breakdowns = ({ figures, agentId, scope }: TableProps & { figures: Analytics }) => {
  const { agents, roles, keys, sources, codes } = figures;
  const nameOf = (id: string): string | undefined =>
    agentId === undefined ? (agents.find((agent) => agent.agentId === id)?.name ?? id) : undefined;
  const byAgent = agents.map((part) => ({ ...part, key: part.agentId, name: part.name, runs: {} }));
  const byRole = roles.map((part) => ({
    ...part,
    key: part.role ?? "",
    name: part.role ?? "no role",
    runs: part.role === null ? { role: undefined, noRole: "1" } : { role: part.role },
  }));
  const byKey = keys.map((part) => ({
    ...part,
    key: part.keyId,
    name: <TwoLines first={part.name ?? part.keyId} second={nameOf(part.agentId) ?? part.keyId} />,
    runs: { keyId: part.keyId },
  }));
  const bySource = sources.map((part) => ({
    ...part,
    key: part.source,
    name: SOURCE_LABELS[part.source],
    runs: { source: part.source },
  }));
  const byCode = codes.map((part) => ({
    ...part,
    key: `${part.agentId} ${part.code}`,
    name: <TwoLines first={<code className="font-mono text-xs">{part.code}</code>} second={nameOf(part.agentId)} />,
    runs: { code: part.code },
  }));
  const tables: [title: string, head: string, parts: Part[]][] = [
    ["Roles", "Role", byRole],
    ["Keys", "Key", byKey],
    ["Sources", "Source", bySource],
    ["Error codes", "Code", byCode],
  ];
  if (agentId === undefined) tables.unshift(["Agents", "Agent", byAgent]);
  return tables.map(([title, head, parts]) => (
    <PartTable key={title} title={title} head={head} parts={parts} scope={scope} />
  ));
};

function PartTable({ title, head, parts, scope }: { title: string; head: string; parts: Part[]; scope: Scope }) {
  const max = Math.max(0, ...parts.map(({ queries }) => queries));
  return (
    <DataTable
      title={title}
      query={allRows(parts)}
      columns={partColumns(head, max)}
      rowKey={({ key }) => key}
      link={({ agentId, runs }, props) =>
        runsLink(agentId === undefined ? scope : { ...scope, agents: [{ agentId }] }, runs, props)
      }
      empty={<EmptyState icon="chart" title={title === "Error codes" ? "No failed queries" : "No queries"} />}
    />
  );
}

const partColumns = (head: string, max: number): Column<Part>[] => [
  { head, cell: ({ name }) => name },
  {
    head: "Queries",
    className: "sm:w-1/4 xl:w-2/5",
    cell: ({ queries, failed }) => (
      <Bar
        value={queries}
        max={max}
        parts={[
          { value: queries - failed, look: SERIES_LOOKS[0]! },
          { value: failed, look: OUTCOME_LOOKS.failed },
        ]}
      />
    ),
  },
  { head: "Failed", align: "end", cell: ({ failed, queries }) => <Failed count={failed} of={queries} /> },
  { head: "Cost", align: "end", cell: ({ costUsd }) => <Money usd={costUsd} /> },
  {
    head: "Per query",
    align: "end",
    from: "md",
    cell: ({ costUsd, queries }) => <Money usd={queries === 0 ? null : costUsd / queries} />,
  },
];

/** A bar with its count; the bar is hidden on narrow screens. */
const Bar = ({ value, ...bar }: { value: number } & Parameters<typeof ShareBar>[0]) => (
  <span className="flex items-center gap-3 max-sm:justify-end">
    <span className="min-w-0 flex-1 max-sm:hidden">
      <ShareBar {...bar} />
    </span>
    <span className="min-w-10 shrink-0 text-right">
      <Count value={value} />
    </span>
  </span>
);

type Model = Analytics["models"][number];

/** Turns, tokens and cost by model. */
export const ModelsTable = ({ models, scope }: Pick<TableProps, "scope"> & { models: Model[] }) => (
  <DataTable
    title="Models"
    query={allRows(models)}
    columns={MODEL_COLUMNS}
    rowKey={({ provider, model }) => `${provider}/${model}`}
    link={({ model }, props) => runsLink(scope, { model }, props)}
    empty={<EmptyState icon="agent" title="No model turns" />}
  />
);

const MODEL_COLUMNS: Column<Model>[] = [
  { head: "Model", cell: ({ provider, model }) => <TwoLines first={model} second={provider !== model && provider} /> },
  { head: "Turns", align: "end", cell: ({ turns }) => <Count value={turns} /> },
  { head: "First token", align: "end", from: "md", cell: ({ firstTokenP50Ms }) => <Duration ms={firstTokenP50Ms} /> },
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
  {
    head: "Cost",
    align: "end",
    cell: ({ costUsd, provider, inputTokens, outputTokens }) => (
      <Cost usd={costUsd} provider={provider} tokens={inputTokens + outputTokens} />
    ),
  },
];

type Row = Analytics["functions"][number];

const SHOWN = 10;

/** The most called functions with their outcomes. A row leads to its runs, a button to the agent's function. */
export function FunctionsTable({ functions, agentId, scope }: TableProps & { functions: Row[] }) {
  const [all, setAll] = useState(false);
  return (
    <DataTable
      title="Most called functions"
      description="Denied calls were refused before their handler ran, also for invalid arguments"
      query={allRows(all ? functions : functions.slice(0, SHOWN))}
      columns={functionColumns(Math.max(0, ...functions.map(({ calls }) => calls)))}
      rowKey={({ name }) => name}
      link={({ name }, props) => runsLink(scope, { functionName: name }, props)}
      {...(agentId !== undefined && {
        actions: ({ name }: Row) => (
          <QuietLink {...toFunction(agentId, name)}>
            Function<span className="sr-only"> {name}</span>
          </QuietLink>
        ),
      })}
      empty={
        <EmptyState icon="function" title="No function calls">
          Calls are counted when they end.
        </EmptyState>
      }
    >
      {functions.length > SHOWN && (
        <div className="border-line flex justify-center border-t p-2">
          <Button look="ghost" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? `Show first ${SHOWN}` : `Show all ${functions.length}`}
          </Button>
        </div>
      )}
    </DataTable>
  );
}

const functionColumns = (max: number): Column<Row>[] => [
  { head: "Function", cell: ({ name }) => <span className="font-mono text-xs">{name}</span> },
  {
    head: "Calls",
    className: "sm:w-1/4 xl:w-2/5",
    cell: (row) => <Bar value={row.calls} max={max} parts={callParts(row)} />,
  },
  { head: "Failed", align: "end", cell: ({ failed, calls }) => <Failed count={failed} of={calls} /> },
  { head: "Denied", align: "end", cell: ({ denied, calls }) => <Failed count={denied} of={calls} tone="text-warn" /> },
  { head: "p50", align: "end", from: "lg", cell: ({ p50Ms }) => <Duration ms={p50Ms} /> },
  { head: "p95", align: "end", from: "md", cell: ({ p95Ms }) => <Duration ms={p95Ms} /> },
  { head: "Total time", align: "end", from: "xl", cell: ({ totalMs }) => <Duration ms={totalMs} /> },
];
