import type { Credits, LedgerEntry } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useFiltered, useList, useSession } from "../../api/api.ts";
import { ChartSkeleton } from "../../charts/chart-card.tsx";
import { operatorCommand, shellQuote } from "../../format/snippets.ts";
import { rangeOf } from "../../format/time-range.ts";
import { formatUsd } from "../../format/numbers.ts";
import { toRun } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { Card, EmptyState, Loaded, PageHeader } from "../../ui/page.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import { type Filter, FilterBar } from "../../ui/table/filter-bar.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Badge, Time, type Tone } from "../../ui/values.tsx";
import { StatTilesSkeleton } from "../../ui/stat-tile.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { CreditCharts, CreditTiles } from "./credit-figures.tsx";

const route = getRouteApi("/shell/credits");
const PRESET = "30d";

/** The organisation's balance, its use over time, and the ledger. */
export function CreditsPage() {
  const search = route.useSearch();
  const change = useSearchChange(route, { toTop: true });
  const { kind, ...range } = search;
  const credits = useFiltered("/credits", { query: rangeOf(range, { preset: PRESET }) });
  return (
    <>
      <PageHeader
        title="Credits"
        description="Prepaid model usage"
        actions={
          <>
            <LinkButton to="/analytics" search={range}>
              View usage
            </LinkButton>
            <TimeRange value={range} onChange={change} preset={PRESET} />
          </>
        }
      />
      <div className="grid gap-4">
        <Loaded query={credits} loading={BALANCE_SKELETON}>
          {(data) => <Balance credits={data} />}
        </Loaded>
        <Ledger kind={kind} onChange={change} />
      </div>
    </>
  );
}

const BALANCE_SKELETON = (
  <>
    <StatTilesSkeleton labels={["Balance", "Reserved", "Spent", "Runway"]} trend={false} />
    <ChartSkeleton title="Balance" />
  </>
);

const Balance = ({ credits }: { credits: Credits }) => (
  <>
    {!credits.charged && <NotCharged />}
    {credits.charged && credits.balanceUsd <= 0 && <NoCredits />}
    <CreditTiles credits={credits} />
    {credits.days.some(({ balanceUsd, spentUsd, grantedUsd }) => balanceUsd || spentUsd || grantedUsd) && (
      <CreditCharts days={credits.days} />
    )}
  </>
);

/** Shown on tiers without charges, such as the sandbox. */
function NotCharged() {
  const { organisation } = useSession();
  return (
    <Card>
      <Remark icon="info" tone="text-info" title={`Queries of the ${organisation.tier} tier are free of charge.`}>
        Analytics shows what the models would cost. On a charged tier, each turn reserves credits and is then charged
        its actual cost.
      </Remark>
    </Card>
  );
}

/** Shown on charged tiers without credits, where every query fails. */
function NoCredits() {
  const { organisation, databaseOption } = useSession();
  return (
    <Card stacked>
      <Remark icon="alert" tone="text-bad" title="No credits left.">
        Queries fail with “insufficient_credits”. The operator adds credits with:
      </Remark>
      <Command text={operatorCommand(`credits grant --org ${shellQuote(organisation.orgId)} 50`, databaseOption)} />
    </Card>
  );
}

const Remark = (props: { icon: IconName; tone: string; title: string; children: string }) => (
  <div className="flex items-start gap-3">
    <Icon name={props.icon} className={`${props.tone} mt-0.5 size-4`} />
    <p className="min-w-0 text-sm">
      <span className="font-medium">{props.title}</span> <span className="text-muted">{props.children}</span>
    </p>
  </div>
);

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
const FILTERS: Filter<"kind">[] = [{ kind: "choice", name: "kind", label: "Kind", options: KINDS }];

interface LedgerProps {
  kind: LedgerEntry["kind"] | undefined;
  onChange: (changed: { kind?: string | undefined }) => void;
}

/** The ledger entries. */
const Ledger = ({ kind, onChange }: LedgerProps) => (
  <DataTable
    title="Ledger"
    description="All entries, latest first"
    titleActions={<FilterBar filters={FILTERS} values={{ kind }} onChange={onChange} />}
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
