import type { LedgerEntry } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { useList } from "../../api/api.ts";
import { formatUsd } from "../../format/numbers.ts";
import { toRun } from "../../state/addresses.ts";
import { DataTable } from "../../ui/table/data-table.tsx";
import { FilterBar } from "../../ui/table/filter-bar.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { EmptyState } from "../../ui/page.tsx";
import { Badge, Time, type Tone } from "../../ui/values.tsx";

/** Each kind with its meaning, which is shown next to the label. */
const WORDS: Record<LedgerEntry["kind"], { label: string; meaning: string; tone: Tone; icon: IconName }> = {
  grant: { label: "Grant", meaning: "credits added", tone: "ok", icon: "plus" },
  reserve: { label: "Reserve", meaning: "credits reserved for a turn", tone: "idle", icon: "clock" },
  settle: { label: "Settle", meaning: "reservation returned, less the cost of the turn", tone: "info", icon: "check" },
  release: {
    label: "Release",
    meaning: "reservation of a turn that did not happen returned",
    tone: "idle",
    icon: "retry",
  },
};

const KINDS = Object.entries(WORDS).map(([value, { label }]) => ({ value, label }));

interface LedgerProps {
  kind: LedgerEntry["kind"] | undefined;
  onChange: (changed: { kind?: string | undefined }) => void;
}

/** The ledger entries. */
export const Ledger = ({ kind, onChange }: LedgerProps) => (
  <DataTable
    title="Ledger"
    description="All entries, latest first"
    titleActions={
      <FilterBar
        filters={[{ kind: "choice", name: "kind", label: "Kind", options: KINDS }]}
        values={{ kind }}
        onChange={onChange}
      />
    }
    query={useList("/credits/ledger", { query: { kind } })}
    live={{ row: "entry", rows: "entries", filter: kind }}
    columns={COLUMNS}
    rowKey={({ id }) => id}
    empty={
      kind === undefined ? (
        <EmptyState icon="credit" title="No entries yet">
          Added credits, and the reservation and cost of each model turn appear here.
        </EmptyState>
      ) : (
        <EmptyState icon="search" title={`No entries of kind ${WORDS[kind].label.toLowerCase()}`}>
          {WORDS[kind].label}: {WORDS[kind].meaning}.
        </EmptyState>
      )
    }
  />
);

const COLUMNS: Column<LedgerEntry>[] = [
  {
    head: "Kind",
    cell: ({ kind }) => {
      const { label, meaning, tone, icon } = WORDS[kind];
      return (
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Badge tone={tone} icon={icon}>
            {label}
          </Badge>
          <span className="text-muted text-xs max-lg:hidden">{meaning}</span>
        </span>
      );
    },
  },
  {
    head: "Run",
    cell: ({ runId, agentId, step }) =>
      runId === null ? (
        <span className="text-faint">–</span>
      ) : (
        <span className="inline-flex max-w-full items-baseline gap-2">
          {agentId === null ? (
            <code className="text-muted min-w-0 truncate font-mono text-xs" title="The run was deleted">
              {runId}
            </code>
          ) : (
            <Link {...toRun(agentId, runId)} className="text-accent min-w-0 truncate font-mono text-xs hover:underline">
              {runId}
            </Link>
          )}
          {step !== null && <span className="text-faint text-xs whitespace-nowrap">turn {step + 1}</span>}
        </span>
      ),
  },
  { head: "When", align: "end", cell: ({ at }) => <Time at={at} /> },
  {
    head: "Amount",
    align: "end",
    cell: ({ usd, kind }) => (
      <span className={`whitespace-nowrap ${usd > 0 ? "text-ok" : ""}`}>
        {usd > 0 && "+"}
        {kind === "grant" ? formatUsd(usd) : exactUsd(usd)}
      </span>
    ),
  },
];

/** To the micro-dollar, as stored, so that the entries add up. */
const exactUsd = (usd: number): string => `${usd < 0 ? "−" : ""}$${Math.abs(usd).toFixed(6)}`;
