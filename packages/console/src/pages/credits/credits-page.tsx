import type { Credits } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { list, resource } from "../../api/queries.ts";
import { ChartSkeleton } from "../../charts/chart-card.tsx";
import { rangeOf } from "../../format/time-range.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { StatTilesSkeleton } from "../analytics/stat-tile.tsx";
import { BurnDown } from "./burn-down.tsx";
import { CreditTiles } from "./credit-tiles.tsx";
import { Ledger, LEDGER_WORDS } from "./ledger.tsx";
import { NotCharged, NoneGranted } from "./without-credits.tsx";

const route = getRouteApi("/shell/credits");
const PRESET = "30d";

/** What an organisation has to spend, how fast it goes, and every movement of it. */
export function CreditsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { kind, ...range } = search;
  const credits = useQuery({
    ...resource("/credits", { query: rangeOf(range, { preset: PRESET }) }),
    placeholderData: keepPreviousData,
  });
  const ledger = useInfiniteQuery({
    ...list("/credits/ledger", { query: { kind } }),
    placeholderData: keepPreviousData,
  });
  const change = (changed: typeof search): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <PageHeader
        title="Credits"
        description="What turns of models are paid from"
        actions={
          <>
            <Link to="/analytics" search={range} className={buttonClass()}>
              What it went to
            </Link>
            <TimeRange value={range} onChange={change} preset={PRESET} />
          </>
        }
      />
      <div className="grid gap-4">
        <Now credits={credits} />
        <Card
          title="Ledger"
          description="Newest first, of all time"
          flush
          actions={
            <FilterBar
              filters={[{ kind: "choice", name: "kind", label: "Kind", options: KINDS }]}
              values={{ kind }}
              onChange={(changed) => change(changed as typeof search)}
            />
          }
        >
          <Ledger ledger={ledger} kind={kind} />
        </Card>
      </div>
    </>
  );
}

const KINDS = Object.entries(LEDGER_WORDS).map(([value, { label }]) => ({ value, label }));

function Now({ credits }: { credits: UseQueryResult<Credits> }) {
  const { data, error } = credits;
  if (data)
    return (
      <>
        {!data.charged && <NotCharged />}
        {data.charged && data.balanceUsd <= 0 && <NoneGranted />}
        <CreditTiles credits={data} />
        {data.days.some(({ balanceUsd, spentUsd, grantedUsd }) => balanceUsd || spentUsd || grantedUsd) && (
          <BurnDown days={data.days} />
        )}
      </>
    );
  if (error)
    return (
      <Card>
        <ErrorState error={error} onRetry={() => void credits.refetch()} />
      </Card>
    );
  return (
    <>
      <StatTilesSkeleton labels={["Balance", "Held", "Spent", "Lasts for"]} course={false} />
      <ChartSkeleton title="Balance" />
    </>
  );
}
