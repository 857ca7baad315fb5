import type { Credits } from "@patchbay/protocol/console";
import { formatDate } from "../../format/times.ts";
import { countOf } from "../../format/words.ts";
import { Money } from "../../ui/figures.tsx";
import { StatTile, StatTiles } from "../analytics/stat-tile.tsx";

const DAY_MS = 86_400_000;
/** Beyond it, a pace of seven days says nothing. */
const FAR_DAYS = 365;
/** At fewer days, it is time to do something. */
const FEW_DAYS = 7;

export function CreditTiles({ credits: { balanceUsd, heldUsd, charged, days, daysLeft } }: { credits: Credits }) {
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
        note="what further turns may take"
      />
      <StatTile label="Held" value={<Money usd={heldUsd} />} note="for turns under way" />
      <StatTile
        label="Spent"
        value={<Money usd={sum("spentUsd")} />}
        note={
          granted > 0 ? (
            <>
              <Money usd={granted} /> granted, in {countOf(days.length, "day")}
            </>
          ) : (
            <>in {countOf(days.length, "day")}</>
          )
        }
      />
      <StatTile label="Lasts for" {...lasting(charged, daysLeft)} />
    </StatTiles>
  );
}

function lasting(charged: boolean, daysLeft: number | null) {
  if (!charged) return { value: <span className="text-muted">no limit</span>, note: "nothing is charged" };
  if (daysLeft === null) return { value: <span className="text-muted">–</span>, note: "nothing spent in 7 days" };
  if (daysLeft > FAR_DAYS) return { value: "over a year", note: "at this week's pace" };
  const left = Math.max(0, Math.floor(daysLeft));
  const end = formatDate(new Date(Date.now() + daysLeft * DAY_MS).toISOString(), "utc");
  return {
    value: (
      <span className={daysLeft < FEW_DAYS ? "text-warn" : undefined}>
        {daysLeft < 1 ? "less than a day" : countOf(left, "day")}
      </span>
    ),
    note: `until ${end} at this week's pace`,
  };
}
