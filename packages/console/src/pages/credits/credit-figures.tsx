import type { Credits } from "@patchbay/protocol/console";
import { ChartCard } from "../../charts/chart-card.tsx";
import type { Series } from "../../charts/series.tsx";
import type { TimeSteps } from "../../charts/time-steps.ts";
import { countOf, formatUsd } from "../../format/numbers.ts";
import { formatDate } from "../../format/times.ts";
import { StatTile, StatTiles } from "../../ui/stat-tile.tsx";
import { Money } from "../../ui/values.tsx";

const DAY_MS = 86_400_000;
/** A longer forecast from seven days' usage would mislead. */
const MAX_FORECAST_DAYS = 365;
/** Fewer days are shown as a warning. */
const WARNING_DAYS = 7;

/** Balance, reservations, spending and runway. */
export function CreditTiles({ credits: { balanceUsd, reservedUsd, charged, days, daysLeft } }: { credits: Credits }) {
  const sum = (of: "spentUsd" | "grantedUsd"): number => days.reduce((all, day) => all + day[of], 0);
  const granted = sum("grantedUsd");
  return (
    <StatTiles>
      <StatTile
        label="Balance"
        value={
          <span className={charged && balanceUsd <= 0 ? "text-bad" : undefined}>
            <Money usd={balanceUsd} />
          </span>
        }
        note="available"
      />
      <StatTile label="Reserved" value={<Money usd={reservedUsd} />} note="for running turns" />
      <StatTile
        label="Spent"
        value={<Money usd={sum("spentUsd")} />}
        note={
          granted > 0 ? (
            <>
              <Money usd={granted} /> granted in {countOf(days.length, "day")}
            </>
          ) : (
            <>in {countOf(days.length, "day")}</>
          )
        }
      />
      <StatTile label="Runway" {...runwayOf(charged, daysLeft)} />
    </StatTiles>
  );
}

function runwayOf(charged: boolean, daysLeft: number | null) {
  if (!charged) return { value: <span className="text-muted">no limit</span>, note: "nothing is charged" };
  if (daysLeft === null) return { value: <span className="text-muted">–</span>, note: "nothing spent in 7 days" };
  if (daysLeft > MAX_FORECAST_DAYS) return { value: "over a year", note: "at the current rate" };
  const left = Math.max(0, Math.floor(daysLeft));
  const end = formatDate(new Date(Date.now() + daysLeft * DAY_MS).toISOString(), "utc");
  return {
    value: (
      <span className={daysLeft < WARNING_DAYS ? "text-warn" : undefined}>
        {daysLeft < 1 ? "less than a day" : countOf(left, "day")}
      </span>
    ),
    note: `until ${end} at the current rate`,
  };
}

/** Charts for the balance and the spending by day. */
export function CreditCharts({ days }: { days: Credits["days"] }) {
  const steps: TimeSteps = {
    at: days.map(({ day }) => `${day}T00:00:00.000Z`),
    widthMs: DAY_MS,
    to: new Date().toISOString(),
  };
  const last = days.at(-1);
  const spent = [seriesOf(days)];
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
            // Negative after a turn that cost more than its reservation; the chart starts at zero.
            values: days.map(({ balanceUsd }) => Math.max(0, balanceUsd)),
            ...(last && { note: formatUsd(last.balanceUsd) }),
          },
        ]}
        unit="usd"
        kind="lines"
        filled
      />
      <ChartCard title="Spent per day" description="In UTC" steps={steps} series={spent} unit="usd" kind="bars" />
    </div>
  );
}

function seriesOf(days: Credits["days"]): Series {
  const highest = Math.max(...days.map(({ spentUsd }) => spentUsd));
  return {
    key: "spent",
    label: "Spent",
    look: { color: "series-4" },
    values: days.map(({ spentUsd }) => spentUsd),
    ...(highest > 0 && { note: `up to ${formatUsd(highest)} per day` }),
  };
}
