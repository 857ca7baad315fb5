import type { Credits } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useFiltered, useSession } from "../../api/api.ts";
import { ChartSkeleton } from "../../charts/chart-card.tsx";
import { operatorCommand, shellQuote } from "../../format/snippets.ts";
import { rangeOf } from "../../format/time-range.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { Card, Loaded, PageHeader } from "../../ui/page.tsx";
import { StatTilesSkeleton } from "../../ui/stat-tile.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { CreditCharts, CreditTiles } from "./credit-figures.tsx";
import { Ledger } from "./ledger.tsx";

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
    <Card>
      <div className="grid gap-3">
        <Remark icon="alert" tone="text-bad" title="No credits left.">
          Queries fail with “insufficient_credits”. The operator adds credits with:
        </Remark>
        <Command text={operatorCommand(`credits grant --org ${shellQuote(organisation.orgId)} 50`, databaseOption)} />
      </div>
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
