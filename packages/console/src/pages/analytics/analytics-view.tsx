import type { Analytics } from "@patchbay/protocol/console";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { TimeChartProps } from "../../charts/time-chart.tsx";
import type { RangeSearch } from "../../format/time-range.ts";
import { classNames } from "../../ui/class-names.ts";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { ModelsTable, RolesTable } from "./breakdowns.tsx";
import { FunctionsTable } from "./functions-table.tsx";
import { queriesOf } from "./series-of.ts";
import { Totals, TotalsSkeleton } from "./totals.tsx";
import { Trends, TrendsSkeleton } from "./trends.tsx";

export interface AnalyticsSearch extends RangeSearch {
  role?: string | undefined;
}

/** The page's default: a day of queries says little about their course. */
export const PRESET = "7d";

interface AnalyticsViewProps {
  description: string;
  search: AnalyticsSearch;
  onSearch: (changed: AnalyticsSearch) => void;
  figures: UseQueryResult<Analytics>;
  /** Of the range before. */
  before: Analytics["totals"] | undefined;
  roles: readonly string[];
  /** Of one agent alone. */
  agentId?: string;
  /** What a step of a chart leads to. */
  open: (figures: Analytics) => TimeChartProps["open"];
  /** Instead of figures, where nothing was asked within the range. */
  empty: ReactNode;
}

/** Figures of queries over a range, of one agent or of all. */
export function AnalyticsView(props: AnalyticsViewProps) {
  const { description, search, onSearch, figures, roles } = props;
  return (
    <>
      <PageHeader title="Analytics" description={description}>
        <FilterBar
          filters={[{ kind: "text", name: "role", label: "Role", suggestions: roles }]}
          values={search}
          onChange={onSearch}
        >
          <TimeRange value={search} onChange={onSearch} preset={PRESET} />
        </FilterBar>
      </PageHeader>
      {figures.data ? (
        <div
          aria-busy={figures.isPlaceholderData}
          className={classNames("transition-opacity", figures.isPlaceholderData && "opacity-60")}
        >
          <Content {...props} figures={figures.data} />
        </div>
      ) : figures.error ? (
        <ErrorState error={figures.error} onRetry={() => void figures.refetch()} />
      ) : (
        <div className="grid gap-4">
          <TotalsSkeleton />
          <TrendsSkeleton />
        </div>
      )}
    </>
  );
}

function Content({
  figures,
  before,
  agentId,
  search,
  onSearch,
  open,
  empty,
}: Omit<AnalyticsViewProps, "figures"> & { figures: Analytics }) {
  const { totals, functions, roles, models } = figures;
  if (queriesOf(totals) === 0 && functions.length === 0 && models.length === 0) return empty;
  const { range, from, to } = search;
  return (
    <div className="grid gap-4">
      <Totals figures={figures} before={before} />
      <Trends figures={figures} open={open(figures)} />
      <FunctionsTable
        functions={functions}
        agentId={agentId}
        range={{ range: range ?? (from ? undefined : PRESET), from, to }}
      />
      <div className="grid items-start gap-4 xl:grid-cols-2">
        <RolesTable roles={roles} onRole={(role) => onSearch({ role })} />
        <ModelsTable models={models} />
      </div>
    </div>
  );
}
