import type { Analytics } from "@patchbay/protocol/console";
import { ShareBar } from "../../charts/share-bar.tsx";
import { formatShare } from "../../format/numbers.ts";
import { Card } from "../../ui/card.tsx";
import { allRows, DataTable, type Column } from "../../ui/data-table.tsx";
import { Count, Money } from "../../ui/figures.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { Part } from "./functions-table.tsx";
import { OUTCOME_LOOKS, SERIES_LOOKS } from "./looks.ts";

type Role = Analytics["roles"][number];
type Model = Analytics["models"][number];

/** Queries by the role they were asked in; a role's name narrows the page to it. */
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
        empty={<EmptyState icon="access" title="No queries, so no roles" />}
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
          <span className="sr-only">: show this role alone</span>
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

/** What each model was asked and what it cost. */
export function ModelsTable({ models }: { models: Model[] }) {
  return (
    <Card title="Models" flush>
      <DataTable
        caption="Models"
        query={allRows(models.toSorted((a, b) => b.costUsd - a.costUsd || b.turns - a.turns))}
        columns={MODEL_COLUMNS}
        rowKey={({ provider, model }) => `${provider}/${model}`}
        empty={<EmptyState icon="agent" title="No model was asked" />}
      />
    </Card>
  );
}

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
