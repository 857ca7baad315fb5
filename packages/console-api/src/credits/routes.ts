import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import { tierNamed } from "@patchbay/server/accounts/limits";
import { rangeOf } from "../analytics/time-range.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;

export function creditRoutes({ store, queries, tiers }: Pick<ConsoleDeps, "store" | "queries" | "tiers">) {
  const { credits, organisations } = queries;

  /** Micro-USD spent per day over the last seven days, or over a younger organisation's age. */
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
      const [balance, reserved, perDay, days] = await Promise.all([
        store.accounts.balance(orgId),
        credits.reservedMicros(orgId),
        pace(orgId, now),
        credits.days(orgId, Math.floor(from / DAY_MS), Math.floor((to - 1) / DAY_MS)),
      ]);
      const { charged } = tierNamed(tiers, by.tier);
      return {
        balanceUsd: usdOf(balance),
        charged,
        reservedUsd: usdOf(reserved),
        days,
        daysLeft: charged && perDay > 0 ? balance / perDay : null,
      };
    },

    "GET /credits/ledger": ({ by, query }) => credits.ledger(by.orgId, paged(query)),
  } satisfies Handlers;
}
