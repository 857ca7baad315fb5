import type { LedgerEntry } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { formatUsd } from "../../format/numbers.ts";
import { DataTable, type Column, type RowsQuery } from "../../ui/data-table.tsx";
import { Time } from "../../ui/figures.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { Badge, type Tone } from "../../ui/status.tsx";

interface Words {
  label: string;
  /** What happened, for those who read ledgers seldom. */
  what: string;
  tone: Tone;
  icon: IconName;
}

export const LEDGER_WORDS: Record<LedgerEntry["kind"], Words> = {
  grant: { label: "Grant", what: "credits were added", tone: "ok", icon: "plus" },
  hold: { label: "Hold", what: "set aside before a turn", tone: "idle", icon: "clock" },
  settle: { label: "Settle", what: "the hold given back, less what the turn cost", tone: "info", icon: "check" },
  release: {
    label: "Release",
    what: "the hold of a turn that did not happen, given back",
    tone: "idle",
    icon: "retry",
  },
};

/** Every movement of the balance. */
export function Ledger({ ledger, kind }: { ledger: RowsQuery<LedgerEntry>; kind: LedgerEntry["kind"] | undefined }) {
  return (
    <DataTable
      caption="Ledger"
      query={ledger}
      columns={COLUMNS}
      rowKey={({ id }) => id}
      empty={
        kind === undefined ? (
          <EmptyState icon="credit" title="No movements yet">
            Credits that are added stand here, and each turn of a model with what was held for it and what it cost.
          </EmptyState>
        ) : (
          <EmptyState icon="search" title={`No entry of the kind ${LEDGER_WORDS[kind].label.toLowerCase()}`}>
            {LEDGER_WORDS[kind].label}: {LEDGER_WORDS[kind].what}.
          </EmptyState>
        )
      }
    />
  );
}

const COLUMNS: Column<LedgerEntry>[] = [
  {
    head: "Kind",
    cell: ({ kind }) => {
      const { label, what, tone, icon } = LEDGER_WORDS[kind];
      return (
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Badge tone={tone} icon={icon}>
            {label}
          </Badge>
          <span className="text-muted text-xs max-lg:hidden">{what}</span>
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
            <code className="text-muted min-w-0 truncate font-mono text-xs" title="The run is no longer kept">
              {runId}
            </code>
          ) : (
            <Link
              to="/agents/$agentId/runs/$runId"
              params={{ agentId, runId }}
              className="text-accent min-w-0 truncate font-mono text-xs hover:underline"
            >
              {runId}
            </Link>
          )}
          {step !== null && <span className="text-faint text-xs whitespace-nowrap">step {step}</span>}
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

/** To the micro-dollar, as it is kept: a ledger must add up. */
const exactUsd = (usd: number): string => `${usd < 0 ? "−" : ""}$${Math.abs(usd).toFixed(6)}`;
