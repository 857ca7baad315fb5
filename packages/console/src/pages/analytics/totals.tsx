import type { Analytics } from "@patchbay/protocol/console";
import { Sparkline } from "../../charts/sparkline.tsx";
import { formatCompact, formatShare } from "../../format/numbers.ts";
import { Count, Duration, Money } from "../../ui/figures.tsx";
import { queriesOf } from "./series-of.ts";
import { Change, StatTile, StatTiles, StatTilesSkeleton } from "./stat-tile.tsx";

/** The figures of a range, each beside that of the range before. */
export function Totals({ figures, before }: { figures: Analytics; before: Analytics["totals"] | undefined }) {
  const { totals, buckets } = figures;
  const queries = queriesOf(totals);
  const failing = (of: Analytics["totals"]): number | null => (queriesOf(of) === 0 ? null : of.failed / queriesOf(of));
  const tokens = (of: { inputTokens: number; outputTokens: number }): number => of.inputTokens + of.outputTokens;
  return (
    <StatTiles>
      <StatTile
        label="Queries"
        value={<Count value={queries} short={queries >= 100_000} />}
        note={<Change now={queries} before={before && queriesOf(before)} />}
      >
        <Sparkline values={buckets.map(queriesOf)} color="series-1" />
      </StatTile>
      <StatTile
        label="Failed"
        value={
          <>
            <Count value={totals.failed} />{" "}
            {queries > 0 && (
              <span className="text-muted text-sm font-normal tracking-normal">
                {formatShare(totals.failed, queries)}
              </span>
            )}
          </>
        }
        note={<Change now={failing(totals)} before={before && failing(before)} better="less" />}
      >
        <Sparkline values={buckets.map(({ failed }) => failed)} color="mark-bad" />
      </StatTile>
      <StatTile
        label="Latency, p95"
        value={<Duration ms={totals.p95Ms} />}
        note={<Change now={totals.p95Ms} before={before?.p95Ms} better="less" />}
      >
        <Sparkline values={buckets.map(({ p95Ms }) => p95Ms)} color="series-3" />
      </StatTile>
      <StatTile
        label="Tokens"
        value={
          <span title={`${totals.inputTokens} in, ${totals.outputTokens} out`}>{formatCompact(tokens(totals))}</span>
        }
        note={<Change now={tokens(totals)} before={before && tokens(before)} />}
      >
        <Sparkline values={buckets.map(tokens)} color="series-2" />
      </StatTile>
      <StatTile
        label="Cost of models"
        value={<Money usd={totals.costUsd} />}
        note={<Change now={totals.costUsd} before={before?.costUsd} />}
      >
        <Sparkline values={buckets.map(({ costUsd }) => costUsd)} color="series-4" />
      </StatTile>
    </StatTiles>
  );
}

export const TotalsSkeleton = () => (
  <StatTilesSkeleton labels={["Queries", "Failed", "Latency, p95", "Tokens", "Cost of models"]} />
);
