import { usdOf } from "../../accounts/usd.ts";
import { type Tiers, tierNamed } from "../../accounts/tiers.ts";
import type { CreditDay } from "../../ports/console-insight.ts";
import type { Store } from "../../ports/stores.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { rangeOf } from "../time-range.ts";

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;

export function creditHandlers({
  store,
  tiers,
}: {
  store: Store;
  tiers: Tiers;
}): HandlersOf<"GET /credits" | "GET /credits/ledger"> {
  const { credits, organisations } = store.console;

  /** Spent in a day, over the last seven or as many as the organisation has been there. */
  async function pace(orgId: string, now: number): Promise<number> {
    const { createdAt } = (await organisations.figures(orgId)) ?? { createdAt: 0 };
    const days = Math.min(PACE_DAYS, Math.max(1, (now - createdAt) / DAY_MS));
    return (await credits.spentMicros(orgId, now - PACE_DAYS * DAY_MS)) / days;
  }

  return {
    async "GET /credits"({ by, query }) {
      const { orgId } = by;
      const now = await store.now();
      const { from, to } = rangeOf(query, now);
      const [balance, held, perDay, days] = await Promise.all([
        store.accounts.balance(orgId),
        credits.heldMicros(orgId),
        pace(orgId, now),
        credits.days(orgId, Math.floor(from / DAY_MS), Math.floor((to - 1) / DAY_MS)),
      ]);
      const { charged } = tierNamed(tiers, by.tier);
      return {
        balanceUsd: usdOf(balance),
        charged,
        heldUsd: usdOf(held),
        days: days.map(shownDay),
        daysLeft: charged && perDay > 0 ? balance / perDay : null,
      };
    },

    async "GET /credits/ledger"({ by, query }) {
      const { limit, cursor, kind } = paged(query);
      const page = { limit, ...(cursor !== undefined && { cursor }), ...(kind !== undefined && { kind }) };
      const { items, nextCursor } = await credits.ledger(by.orgId, page);
      return {
        items: items.map(({ at, micros, ...entry }) => ({
          ...entry,
          at: new Date(at).toISOString(),
          usd: usdOf(micros),
        })),
        nextCursor,
      };
    },
  };
}

const shownDay = ({ day, spentMicros, grantedMicros, balanceMicros }: CreditDay) => ({
  day: new Date(day * DAY_MS).toISOString().slice(0, 10),
  spentUsd: usdOf(spentMicros),
  grantedUsd: usdOf(grantedMicros),
  balanceUsd: usdOf(balanceMicros),
});
