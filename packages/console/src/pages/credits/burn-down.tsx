import type { Credits } from "@patchbay/protocol/console";
import { ChartCard } from "../../charts/chart-card.tsx";
import type { Series } from "../../charts/series.ts";
import type { TimeSteps } from "../../charts/time-steps.ts";
import { formatUsd } from "../../format/numbers.ts";

const DAY_MS = 86_400_000;

/** What was left at the end of each day, and what went and came in it. */
export function BurnDown({ days }: { days: Credits["days"] }) {
  const steps: TimeSteps = {
    at: days.map(({ day }) => `${day}T00:00:00.000Z`),
    widthMs: DAY_MS,
    to: new Date().toISOString(),
  };
  const last = days.at(-1);
  return (
    <div className="grid gap-4 xl:grid-cols-2">
      <ChartCard
        title="Balance"
        description="At the end of each day, in UTC"
        steps={steps}
        series={[
          {
            key: "balance",
            label: "Balance",
            look: { color: "series-1" },
            // An overdraft of a turn that cost more than was held for it is no height.
            values: days.map(({ balanceUsd }) => Math.max(0, balanceUsd)),
            ...(last && { note: formatUsd(last.balanceUsd) }),
          },
        ]}
        unit="usd"
        kind="lines"
        filled
      />
      <ChartCard
        title="Spent by day"
        description="In UTC"
        steps={steps}
        series={[seriesOf(days)]}
        unit="usd"
        kind="bars"
      />
    </div>
  );
}

function seriesOf(days: Credits["days"]): Series {
  const busiest = Math.max(...days.map(({ spentUsd }) => spentUsd));
  return {
    key: "spent",
    label: "Spent",
    look: { color: "series-4" },
    values: days.map(({ spentUsd }) => spentUsd),
    ...(busiest > 0 && { note: `at most ${formatUsd(busiest)} a day` }),
  };
}
