import type { Analytics } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ShareBar } from "../../charts/share-bar.tsx";
import { formatShare } from "../../format/numbers.ts";
import type { RangeSearch } from "../../format/time-range.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { allRows, DataTable, type Column, type RowLinkProps } from "../../ui/data-table.tsx";
import { Count, Duration } from "../../ui/figures.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { OUTCOME_LOOKS } from "./looks.ts";

type Row = Analytics["functions"][number];

/** As many as can be taken in at once. */
const SHOWN = 10;

/** What was called most, with how it went. Of one agent, each leads to its function. */
export function FunctionsTable({
  functions,
  agentId,
  range,
}: {
  functions: Row[];
  agentId: string | undefined;
  range: RangeSearch;
}) {
  const [all, setAll] = useState(false);
  const max = Math.max(0, ...functions.map(({ calls }) => calls));
  return (
    <Card title="Busiest functions" flush>
      <DataTable
        caption="Busiest functions"
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
          <EmptyState icon="function" title="No function was called">
            Calls are counted when they end, whatever came of them.
          </EmptyState>
        }
      />
      {functions.length > SHOWN && (
        <div className="border-line flex justify-center border-t p-2">
          <Button look="ghost" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? `Show the first ${SHOWN}` : `Show all ${functions.length}`}
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
    cell: ({ calls, failed, denied }) => (
      <span className="flex items-center gap-3 max-sm:justify-end">
        <span className="min-w-0 flex-1 max-sm:hidden">
          <ShareBar
            max={max}
            parts={[
              { value: calls - failed - denied, look: OUTCOME_LOOKS.succeeded },
              { value: failed, look: OUTCOME_LOOKS.failed },
              { value: denied, look: OUTCOME_LOOKS.denied },
            ]}
          />
        </span>
        <span className="min-w-10 shrink-0 text-right">
          <Count value={calls} />
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
  { head: "Time in all", align: "end", from: "xl", cell: ({ totalMs }) => <Duration ms={totalMs} /> },
];

/** A count with its share; nothing to see where it is zero. */
export function Part({ part, of, className }: { part: number; of: number; className: string }) {
  if (part === 0) return <span className="text-faint">0</span>;
  return (
    <span className={`whitespace-nowrap ${className}`}>
      <Count value={part} /> <span className="text-xs">({formatShare(part, of)})</span>
    </span>
  );
}
